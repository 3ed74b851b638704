use plugport_sdk::prelude::*;

/// A person.
#[tool]
struct Person {
    name: String,
}

fn main() {}
