//! Uses the host's clocks against it.

use std::hint::black_box;

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi::{clock, poll};

/// Read the clock for ever.
#[tool]
fn read() -> String {
    loop {
        black_box(clock::now());
    }
}

/// Sleep until the end of time.
#[tool]
fn sleep() -> &'static str {
    clock::subscribe_duration(u64::MAX).block();
    clock::subscribe_instant(u64::MAX).block();
    "awake"
}

/// Wait for times long past, for ever.
#[tool]
fn past() -> String {
    loop {
        clock::subscribe_instant(0).block();
    }
}

/// Wait for one clock through so many handles' worth of one list.
#[tool]
fn crowd(count: usize) -> String {
    let pollable = clock::subscribe_duration(u64::MAX);
    let crowd: Vec<_> = std::iter::repeat_n(&pollable, count).collect();
    poll::poll(&crowd);
    format!("{count} were ready")
}

/// Wait for nothing at all.
#[tool]
fn nothing() -> String {
    format!("{:?}", poll::poll(&[]))
}

plugport_sdk::export! { tools: [read, sleep, past, crowd, nothing] }
