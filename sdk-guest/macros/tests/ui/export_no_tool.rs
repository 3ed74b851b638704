use plugport_sdk::prelude::*;

struct Person {}

fn hello(name: String) -> String {
    name
}

plugport_sdk::export! { tools: [Person, hello] }

fn main() {}
