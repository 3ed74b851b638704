//! Every feature of an SDK once, under the names that the same guest has in every language.
//! `tests/suite/languages/sdk_features.rs` drives them all.

use plugport_sdk::completions::{Completion, rank};
use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Log a text.
#[tool]
fn log(
    call: &Call,
    /// What to log.
    text: String,
) -> &'static str {
    call.info(&text);
    "logged"
}

/// Print a text.
#[tool]
fn print(
    /// What to print.
    text: String,
) -> &'static str {
    println!("{text}");
    "printed"
}

/// Report some steps.
#[tool]
fn progress(
    call: &Call,
    /// How many.
    steps: u32,
) -> &'static str {
    for step in 1..=steps {
        call.progress(step.into(), Some(steps.into()), format!("step {step}").as_str());
    }
    "done"
}

/// Ask the client's model.
#[tool]
fn sample(
    call: &Call,
    /// What to ask it.
    question: String,
) -> Result<String, Error> {
    Ok(call.sample(CreateMessageRequest::from(question).max_tokens(100))?.text())
}

#[derive(Deserialize, JsonSchema)]
struct Form {
    /// What the person answers.
    answer: String,
}

/// Ask the person.
#[tool]
fn elicit(
    call: &Call,
    /// What to ask them.
    question: String,
) -> Result<String, Error> {
    Ok(match call.elicit::<Form>(question)? {
        ElicitResult::Accepted(Form { answer }) => format!("accepted: {answer}"),
        ElicitResult::Declined => "declined".to_owned(),
        ElicitResult::Cancelled => "cancelled".to_owned(),
    })
}

/// List the client's folders.
#[tool]
fn roots(call: &Call) -> Result<String, Error> {
    let uris: Vec<String> = call.roots()?.into_iter().map(|root| root.uri).collect();
    Ok(uris.join(", "))
}

#[derive(Serialize, JsonSchema)]
struct Calculated {
    sum: i64,
    product: i64,
}

/// Calculate with two numbers.
#[tool(read_only)]
fn structured(a: i64, b: i64) -> Calculated {
    Calculated { sum: a + b, product: a * b }
}

#[derive(Serialize, JsonSchema)]
struct Nested {
    inner: Value,
}

/// Answer with lists in lists.
#[tool]
fn nest(
    /// How deep.
    depth: u32,
) -> Nested {
    Nested { inner: (0..depth).fold(Value::from("here"), |inner, _| Value::Array(vec![inner])) }
}

/// Fail.
#[tool]
fn fail(
    /// What to say.
    why: String,
) -> Result<(), String> {
    Err(why)
}

/// Ask the client's model where that is not granted.
#[tool]
fn refuse(call: &Call) -> Result<String, Error> {
    Ok(call.sample("May I?")?.text())
}

/// A greeting.
#[resource("features://greeting", name = "greeting", mime_type = "text/plain")]
fn greeting() -> &'static str {
    "Hello from Rust"
}

/// A word, given back.
#[resource_template("features://echo/{word}", name = "echo", mime_type = "text/plain")]
fn echo(word: String) -> String {
    word
}

/// Greet someone.
#[prompt]
fn greet(
    /// Whom to greet.
    name: String,
) -> String {
    format!("Greet {name} warmly.")
}

#[complete(prompt = greet, argument = "name")]
fn names(value: &str) -> Completion {
    rank(value, ["Ada", "Alan", "Grace"].into_iter().filter(|name| name.starts_with(value)))
}

plugport_sdk::export! {
    tools: [log, print, progress, sample, elicit, roots, structured, nest, fail, refuse],
    resources: [greeting, echo],
    prompts: [greet],
    completions: [names],
}
