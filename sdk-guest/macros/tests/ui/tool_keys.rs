use plugport_sdk::prelude::*;

/// Greet someone.
#[tool(readonly)]
fn unknown(name: String) -> String {
    name
}

/// Greet someone.
#[tool(read_only, read_only = false)]
fn twice(name: String) -> String {
    name
}

/// Greet someone.
#[tool(read_only = "yes")]
fn no_flag(name: String) -> String {
    name
}

/// Greet someone.
#[tool(title = 5)]
fn no_text(name: String) -> String {
    name
}

/// Greet someone.
#[tool(title)]
fn no_value(name: String) -> String {
    name
}

/// Greet someone.
#[tool(name = "say hello")]
fn bad_name(name: String) -> String {
    name
}

fn main() {}
