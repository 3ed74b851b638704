use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
unsafe fn hello(name: String) -> String {
    name
}

/// Greet someone.
#[tool]
extern "C" fn hello_from_c(name: String) -> String {
    name
}

fn main() {}
