//! Tells of progress without end, and of progress that goes back.

use plugport_sdk::prelude::*;

/// Tell of so many steps, backwards, with numbers that are none in between.
#[tool]
fn flood(call: &Call, steps: u32) -> &'static str {
    for step in (0..steps).rev() {
        let at = match step % 1_000 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            _ => f64::from(step),
        };
        call.progress(at, f64::from(steps), "step");
    }
    "told"
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [flood, ok] }
