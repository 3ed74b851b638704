//! Never returns from a call.

use std::hint::black_box;

use plugport_sdk::prelude::*;

/// Spin for ever.
#[tool]
fn spin() -> String {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [spin, ok] }
