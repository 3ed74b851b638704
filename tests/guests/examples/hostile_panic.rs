//! Panics in the middle of a call.

use plugport_sdk::prelude::*;

/// Panic with a message.
#[tool]
fn boom(message: String) -> String {
    panic!("{message}")
}

/// Panic with a message of so many bytes.
#[tool]
fn long(bytes: usize) -> String {
    panic!("{}", "x".repeat(bytes))
}

/// Abort without a word.
#[tool]
fn abort() -> String {
    std::process::abort()
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [boom, long, abort, ok] }
