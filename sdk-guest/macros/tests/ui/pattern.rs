use plugport_sdk::prelude::*;

/// Add two numbers.
#[tool]
fn add((a, b): (i64, i64)) -> i64 {
    a + b
}

/// Ignore what it is given.
#[tool]
fn ignore(_: String) {}

fn main() {}
