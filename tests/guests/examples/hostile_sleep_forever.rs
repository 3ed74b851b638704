//! Sleeps without end.

use std::thread::sleep;
use std::time::Duration;

use plugport_sdk::prelude::*;

/// Sleep in one piece.
#[tool]
fn once() -> &'static str {
    sleep(Duration::MAX);
    "awake"
}

/// Sleep in little pieces.
#[tool]
fn dozing() -> String {
    loop {
        sleep(Duration::from_millis(1));
    }
}

plugport_sdk::export! { tools: [once, dozing] }
