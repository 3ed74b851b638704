//! Tools whose calls become tasks.

use plugport_sdk::RpcError;
use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::pause;

/// A name, as a client may also leave it out.
#[derive(Deserialize, JsonSchema)]
struct Answer {
    name: Option<String>,
    confirm: Option<bool>,
}

/// Greet, which takes no time.
#[tool]
pub fn greet(
    /// Whom to greet.
    name: String,
) -> String {
    format!("Hello, {name}!")
}

/// Compute for some seconds.
#[tool]
pub fn slow_compute(
    call: &Call,
    /// How many seconds.
    seconds: u32,
    /// What the result is called.
    label: String,
) -> String {
    if seconds > 0 {
        call.detach("computing");
    }
    for _ in 0..seconds {
        pause(1_000);
    }
    format!("{label}: computed for {seconds} s")
}

/// Fail after a second. Only a client that knows tasks can call it.
#[tool(extra = r#"{"execution":{"taskSupport":"required"}}"#)]
pub fn failing_job(call: &Call) -> Result<(), &'static str> {
    call.detach(None);
    pause(1_000);
    Err("This job fails for testing")
}

/// Fail with an error of the protocol.
#[tool]
pub fn protocol_error_job(call: &Call) -> Result<(), Error> {
    call.detach(None);
    pause(200);
    Err(Error::Rpc(RpcError { code: -32603, message: "This job breaks for testing".to_owned(), data: None }))
}

/// Ask whether to delete a file, and delete nothing.
#[tool]
pub fn confirm_delete(
    call: &Call,
    /// The file.
    filename: String,
) -> Result<String, Error> {
    call.detach("waiting for a confirmation");
    let answer = call.keyed("confirm").elicit::<Answer>(format!("Delete {filename}?"))?.accepted()?;
    let done = if answer.confirm.unwrap_or_default() { "deleted" } else { "kept" };
    Ok(format!("{filename} is {done}"))
}

/// Ask two questions at once.
#[tool]
pub fn multi_input(call: &Call) -> Result<String, Error> {
    call.detach(None);
    let batch = InputBatch::new().elicit::<Answer>("first", "First?").elicit::<Answer>("second", "Second?");
    let answers = call.request_inputs(batch)?;
    let name = |key| -> Result<String, Error> {
        Ok(answers.elicited::<Answer>(key)?.accepted()?.name.unwrap_or_default())
    };
    Ok(format!("{} and {}", name("first")?, name("second")?))
}

/// Ask for a name first, and become a task then.
#[tool(extra = r#"{"execution":{"taskSupport":"required"}}"#)]
pub fn test_tool_with_task(call: &Call) -> Result<String, Error> {
    let name = call.keyed("user_name").elicit::<Answer>("What is your name?")?.accepted()?.name;
    call.detach("greeting");
    pause(300);
    Ok(format!("Hello, {}!", name.unwrap_or_default()))
}
