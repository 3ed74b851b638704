//! Panics in the middle of a call.

use plugport_sdk::prelude::*;

/// Panic with a message.
#[tool]
fn boom(message: String) -> String {
    panic!("{message}")
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [boom, ok] }
