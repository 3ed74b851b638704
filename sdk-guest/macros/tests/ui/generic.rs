use plugport_sdk::prelude::*;

/// Greet someone.
#[tool]
fn hello<T: std::fmt::Display>(name: T) -> String {
    name.to_string()
}

/// Greet someone.
#[tool]
fn hello_too(name: impl std::fmt::Display) -> String {
    name.to_string()
}

/// Greet someone.
#[tool]
fn hello_back(name: String) -> impl std::fmt::Display {
    name
}

fn main() {}
