//! One of two builds of the same plugin, told apart by their answer.

use plugport_sdk::prelude::*;

/// Say which build this is.
#[tool]
fn version() -> &'static str {
    "b"
}

plugport_sdk::export! { tools: [version] }
