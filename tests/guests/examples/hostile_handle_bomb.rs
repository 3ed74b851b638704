//! Creates handles of the host without end.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi::clock;

/// Take handles until there are no more.
#[tool]
fn take() -> String {
    let mut held = Vec::new();
    loop {
        held.push(clock::subscribe_duration(1));
    }
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [take, ok] }
