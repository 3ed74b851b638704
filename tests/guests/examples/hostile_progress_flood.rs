//! Sends progress without end: increasing, decreasing, and values that are no numbers.

use plugport_sdk::prelude::*;

/// Tell of so many steps, one after the other.
#[tool]
fn flood(call: &Call, steps: u32) -> &'static str {
    (0..steps).for_each(|step| call.progress(f64::from(step), f64::from(steps), "step"));
    "told"
}

/// Tell of the same steps, the last one first.
#[tool]
fn back(call: &Call, steps: u32) -> &'static str {
    (0..steps).rev().for_each(|step| call.progress(f64::from(step), f64::from(steps), "step"));
    "told"
}

/// Tell so many times of what is no number, and at the end of one step out of as little.
#[tool]
fn nothing(call: &Call, steps: u32) -> &'static str {
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for at in strange.into_iter().cycle().take(steps as usize) {
        call.progress(at, f64::NAN, "step");
    }
    call.progress(1.0, f64::NAN, "step");
    "told"
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [flood, back, nothing, ok] }
