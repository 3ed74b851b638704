use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn hello(name: String) -> String {
    name
}

/// Greet someone else.
#[tool(name = "hello")]
fn hello_too(name: String) -> String {
    name
}

plugport_sdk::export! { tools: [hello, hello_too] }

fn main() {}
