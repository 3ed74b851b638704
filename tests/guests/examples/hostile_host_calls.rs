//! Keeps the host busy with calls that cost the guest next to nothing.

use std::hint::black_box;
use std::time::{Instant, SystemTime};

use plugport_sdk::prelude::*;

/// Call the host for ever.
#[tool]
fn busy(call: &Call) -> String {
    loop {
        black_box((call.cancelled(), Instant::now(), SystemTime::now()));
    }
}

plugport_sdk::export! { tools: [busy] }
