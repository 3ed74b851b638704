use plugport_sdk::prelude::*;

#[tool]
fn hello(name: String) -> String {
    name
}

fn main() {}
