use plugport_sdk::prelude::*;

struct Plain;

/// Return something.
#[tool]
fn plain() -> Plain {
    Plain
}

/// Return something, or fail.
#[tool]
fn fallible() -> Result<Plain, String> {
    Ok(Plain)
}

/// Fail with something.
#[tool]
fn error() -> Result<String, Plain> {
    Err(Plain)
}

fn main() {}
