//! Allocates memory until there is no more.

use std::hint::black_box;

use plugport_sdk::prelude::*;

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;

/// Allocate without end, and touch every page.
#[tool]
fn allocate() -> String {
    let mut taken = Vec::new();
    loop {
        let mut block = vec![0_u8; MIB];
        block.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        taken.push(black_box(block));
    }
}

/// Be refused memory, and ask again and again.
#[tool]
fn insist() -> String {
    loop {
        black_box(core::arch::wasm32::memory_grow(0, 1));
    }
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [allocate, insist, ok] }
