use plugport_sdk::prelude::*;

#[doc = concat!("Greet ", "someone.")]
#[tool]
fn hello(name: String) -> String {
    name
}

#[tool]
#[doc = concat!("Greet ", "someone.")]
fn hello_again(name: String) -> String {
    name
}

fn main() {}
