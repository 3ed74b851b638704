//! Recurses until the stack is used up.

use std::hint::black_box;

use plugport_sdk::prelude::*;

/// Recurse without end.
#[tool]
fn recurse() -> u64 {
    descend(0)
}

/// Works on after the call in it, so that no compiler makes a loop of this, and keeps little in its frame, so that the
/// host's stack is used up before the guest's own.
#[expect(unconditional_recursion, reason = "this is what the guest is for")]
#[inline(never)]
fn descend(depth: u64) -> u64 {
    descend(black_box(depth).wrapping_add(1)).rotate_left(1) ^ depth
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [recurse, ok] }
