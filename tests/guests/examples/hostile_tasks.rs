//! Detaches, asks and tells without end, and asks much at once.

use std::thread::sleep;
use std::time::Duration;

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Answer {
    text: String,
}

/// Detach without end.
#[tool]
fn detach(call: &Call) -> &'static str {
    loop {
        call.detach("once more");
    }
}

/// Detach and ask without end, whatever the answers are.
#[tool]
fn ask(call: &Call) -> &'static str {
    loop {
        call.detach("asking");
        let _ = call.elicit::<Answer>("Once more?");
    }
}

/// Detach, ask so many questions at once, and give back the length of the answers.
#[tool]
fn many(call: &Call, questions: u32) -> Result<String, Error> {
    call.detach(None);
    let key = |number| format!("q{number}");
    let batch = (0..questions)
        .fold(InputBatch::new(), |batch, number| batch.elicit::<Answer>(key(number), "What is your name?"));
    let answers = call.request_inputs(batch)?;
    let mut length = 0;
    for number in 0..questions {
        length += answers.elicited::<Answer>(&key(number))?.ok().map_or(0, |answer| answer.text.len());
    }
    Ok(format!("{length} bytes"))
}

/// Detach, tell of progress at length for so many milliseconds, and end with a long text.
#[tool]
fn tell(call: &Call, ms: u32, bytes: u32) -> String {
    call.detach(None);
    let long = "x".repeat(4 << 10);
    for step in 0..ms {
        for part in 0..4 {
            call.progress(f64::from(step * 4 + part), None, long.as_str());
        }
        sleep(Duration::from_millis(1));
    }
    "x".repeat(bytes as usize)
}

plugport_sdk::export! { tools: [detach, ask, many, tell] }
