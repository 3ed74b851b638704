//! Tools for the tests of tasks: one that never becomes a task, and some that say, ask or return something in one.

use std::thread::sleep;
use std::time::Duration;

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Answer {
    word: String,
}

/// Sleep, and never as a task.
#[tool(extra = r#"{"execution":{"taskSupport":"forbidden"}}"#)]
fn forbidden(ms: u64) -> &'static str {
    pause(ms);
    "rested"
}

/// Report progress, and sleep.
#[tool]
fn report(call: &Call, ms: u64) -> &'static str {
    call.progress(2.0, 3.0, "step 2");
    pause(ms);
    "done"
}

/// Sleep, and say a word as often as asked.
#[tool]
fn repeat(ms: u64, word: String, times: u32) -> String {
    pause(ms);
    word.repeat(times as usize)
}

/// Detach, ask for a word, sleep, and say it as often as asked.
#[tool]
fn ask(call: &Call, ms: u64, times: u32) -> Result<String, Error> {
    call.detach(None);
    let answer = call.keyed("word").elicit::<Answer>("Which word?")?.accepted()?;
    pause(ms);
    Ok(answer.word.repeat(times as usize))
}

/// Detach, ask questions one after the other, and sleep, whatever the answers are.
#[tool]
fn insist(call: &Call, questions: u32, ms: u64) -> &'static str {
    call.detach(None);
    for number in 0..questions {
        let key = format!("q{number}");
        let _ = call.keyed(&key).elicit::<Answer>("Which word?");
    }
    pause(ms);
    "done"
}

fn pause(ms: u64) {
    sleep(Duration::from_millis(ms));
}

plugport_sdk::export! { tools: [forbidden, report, repeat, ask, insist] }
