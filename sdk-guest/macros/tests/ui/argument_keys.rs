use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn unknown(#[arg(description = "Who.")] name: String) -> String {
    name
}

/// Greet someone.
#[tool]
fn alone(#[arg] name: String) -> String {
    name
}

/// Greet someone.
#[tool]
fn no_default(#[arg(default)] name: String) -> String {
    name
}

/// Greet someone.
#[tool]
fn same_name(name: String, #[arg(rename = "name")] other: String) -> String {
    name + &other
}

/// Greet someone.
#[tool]
fn on_the_call(#[arg(rename = "it")] call: &Call) -> String {
    call.client().name.clone()
}

/// Greet someone.
#[tool]
fn configured(#[cfg(unix)] name: String) -> String {
    name
}

fn main() {}
