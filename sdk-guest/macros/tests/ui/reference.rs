use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn hello(name: &str) -> String {
    name.to_owned()
}

/// Greet someone.
#[tool]
fn hello_too(call: &mut Call, name: String) -> String {
    call.info(&name);
    name
}

fn main() {}
