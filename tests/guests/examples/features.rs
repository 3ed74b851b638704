//! Every feature of an SDK once, under the names that the same guest has in every language.
//! `tests/suite/languages/sdk_features.rs` and `host_interfaces.rs` beside it drive them all.

use std::thread::sleep;
use std::time::Duration;

use futures_util::future::join_all;
use plugport_sdk::completions::{Completion, rank};
use plugport_sdk::http::{Failure, Request, Response};
use plugport_sdk::prelude::*;
use plugport_sdk::{config, kv};
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

fn text_of(response: Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Fetch a text.
#[tool(name = "fetch-text")]
fn fetch_text(
    /// Where it is.
    url: String,
) -> Result<String, Failure> {
    Request::get(url).send().map(text_of)
}

/// Fetch several texts at once.
#[tool(name = "fetch-all")]
async fn fetch_all(
    /// Where they are.
    urls: Vec<String>,
) -> Result<String, Failure> {
    let outcomes = join_all(urls.into_iter().map(|url| Request::get(url).send_async())).await;
    let texts: Result<Vec<_>, _> = outcomes.into_iter().map(|outcome| outcome.map(text_of)).collect();
    Ok(texts?.join("\n"))
}

/// Count the visits of someone.
#[tool(name = "count-visits")]
fn count_visits(
    /// Who visits.
    name: String,
) -> Result<String, Error> {
    Ok(kv::open()?.increment(&name, 1)?.to_string())
}

/// Say the greeting of the settings, and how long the secret is. Log the secret, which the client must not see.
#[tool(name = "greet-configured")]
fn greet_configured(call: &Call) -> Result<String, Error> {
    let (words, token) = (config::require("greeting")?, config::require("token")?);
    call.info(&token);
    Ok(format!("{words} {}", token.chars().count()))
}

/// Let the client go on without waiting, and say whether it does.
#[tool]
fn detach(
    call: &Call,
    /// What to tell people meanwhile.
    status: String,
) -> String {
    call.detach(&*status).to_string()
}

/// Say which extensions the client declared.
#[tool]
fn extensions(call: &Call) -> String {
    call.client().extensions.join(", ")
}

/// Sleep.
#[tool(name = "sleep")]
fn sleep_for(
    /// How many milliseconds.
    ms: u64,
) -> &'static str {
    sleep(Duration::from_millis(ms));
    "rested"
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
    tools: [
        log, print, progress, sample, elicit, roots, structured, nest, fail, refuse, fetch_text, fetch_all,
        count_visits, greet_configured, detach, extensions, sleep_for,
    ],
    resources: [greeting, echo],
    prompts: [greet],
    completions: [names],
}
