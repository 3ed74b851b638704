//! A well-behaved plugin: its tools do what tools should, in every way that a tool can.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

/// Give back a message.
#[tool(read_only, idempotent, open_world = false)]
fn echo(
    /// What to give back.
    message: String,
) -> String {
    message
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// What the two make together.
    sum: i64,
}

/// Add two numbers.
#[tool(title = "Addition", read_only)]
fn add(a: i64, b: i64) -> Result<Sum, &'static str> {
    let sum = a.checked_add(b).ok_or("the sum is too large")?;
    Ok(Sum { sum })
}

#[derive(Debug)]
struct Failed {
    message: &'static str,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause.as_ref() as _)
    }
}

/// Fail for a reason, which has a reason.
#[tool]
fn fail(reason: String) -> Result<String, Failed> {
    let deeper = Failed { message: "the inner step failed", cause: Some(reason.into()) };
    Err(Failed { message: "the tool failed", cause: Some(Box::new(deeper)) })
}

/// Count the steps aloud.
#[tool]
fn narrate(call: &Call, steps: u32) -> String {
    for step in 1..=steps {
        call.info(format_args!("step {step} of {steps}"));
        call.progress(f64::from(step), f64::from(steps), format!("step {step}").as_str());
    }
    format!("told {steps} steps")
}

/// Sleep for a while.
#[tool]
fn nap(ms: u64) -> &'static str {
    sleep(Duration::from_millis(ms));
    "rested"
}

#[derive(Serialize, JsonSchema)]
struct Client {
    name: String,
    version: String,
    protocol: String,
    sampling: bool,
    elicitation: bool,
    roots: bool,
    principal: Option<String>,
}

/// Say who is asking.
#[tool(read_only)]
fn whoami(call: &Call) -> Client {
    let client = call.client().clone();
    Client {
        name: client.name,
        version: client.version,
        protocol: client.protocol,
        sampling: client.sampling,
        elicitation: client.elicitation,
        roots: client.roots,
        principal: call.principal(),
    }
}

/// Answer with every kind of content.
#[tool]
fn content() -> Vec<Content> {
    vec![
        Content::text("text").priority(0.5),
        Content::image([0x89, b'P', b'N', b'G'], "image/png"),
        Content::audio(*b"RIFF", "audio/wav"),
        Content::text_resource("polite:text", "text/plain", "a resource"),
        Content::blob_resource("polite:blob", "application/octet-stream", [0, 1, 2]),
        Content::link("polite:link", "a link"),
    ]
}

plugport_sdk::export! { tools: [echo, add, fail, narrate, nap, whoami, content] }
