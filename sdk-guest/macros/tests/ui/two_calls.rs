use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn hello(first: &Call, name: String, second: &Call) -> String {
    first.info(&name);
    second.info(&name);
    name
}

fn main() {}
