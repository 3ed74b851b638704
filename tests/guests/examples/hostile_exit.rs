//! Exits, as if it had a process of its own.

use plugport_sdk::prelude::*;

/// Exit with a code.
#[tool]
fn exit(code: i32) -> String {
    std::process::exit(code)
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [exit, ok] }
