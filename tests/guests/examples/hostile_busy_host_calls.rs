//! Keeps the host busy with calls that cost the guest next to nothing.

use std::hint::black_box;
use std::time::{Instant, SystemTime};

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi::clock;

/// Call the host for ever.
#[tool]
fn busy(call: &Call) -> String {
    loop {
        black_box((call.cancelled(), Instant::now(), SystemTime::now()));
    }
}

/// Make handles and drop them for ever.
#[tool]
fn churn() -> String {
    loop {
        drop(black_box(clock::subscribe_duration(0)));
    }
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [busy, churn, ok] }
