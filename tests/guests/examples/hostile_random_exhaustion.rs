//! Requests more random bytes than there is memory.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi::{insecure, random};

/// Ask for so many KiB at once.
#[tool]
fn once(kib: u64) -> String {
    format!("{} bytes", random::get_random_bytes(kib << 10).len())
}

/// Ask for 2^60 of the cheap ones.
#[tool]
fn cheap() -> String {
    format!("{} bytes", insecure::get_insecure_random_bytes(1 << 60).len())
}

/// Ask for a little, for ever.
#[tool]
fn always() -> String {
    loop {
        std::hint::black_box(random::get_random_bytes(4096));
    }
}

plugport_sdk::export! { tools: [once, cheap, always] }
