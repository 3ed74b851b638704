//! Sends the client requests that its arguments name, and returns the responses.

use std::thread::sleep;
use std::time::Duration;

use plugport_sdk::serde_json::{self, Value, json};
use plugport_test_guests::raw::plugport::plugin::inputs::{Body, InputRequest, request_inputs};
use plugport_test_guests::raw::plugport::plugin::{elicitation, roots, sampling};
use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};
use serde::Deserialize;

/// Half of the time of the slow tool.
const HALF: Duration = Duration::from_millis(2_500);

#[derive(Deserialize)]
struct RequestArgs {
    key: Option<String>,
    method: String,
    #[serde(default)]
    params: Value,
}

#[derive(Deserialize)]
struct Batch {
    requests: Vec<RequestArgs>,
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(["ask", "pass", "batch", "twice", "slow", "client"]
            .map(|name| raw::tool(name, r#"{"type":"object"}"#))
            .into())
    }

    fn call_tool(call: Call, name: String, args: String) -> Result<ToolResult, Error> {
        match name.as_str() {
            // The response or the error, as text.
            "ask" => Ok(raw::text(&said(ask(&call, &read(&args)?)))),
            // The error as the result of the call.
            "pass" => ask(&call, &read(&args)?).map(|response| raw::text(&response)),
            "batch" => Ok(raw::text(&batch(&call, read(&args)?)?)),
            // The same request twice, one after the other.
            "twice" => {
                let request: RequestArgs = read(&args)?;
                let (first, second) = (said(ask(&call, &request)), said(ask(&call, &request)));
                Ok(raw::text(&format!("{first} then {second}")))
            }
            // The response, with half of the time before the request and half after it.
            "slow" => {
                let request: RequestArgs = read(&args)?;
                sleep(HALF);
                let response = said(ask(&call, &request));
                sleep(HALF);
                Ok(raw::text(&response))
            }
            "client" => Ok(raw::text(&format!("{:?}", call.client()))),
            _ => Err(Error::NotFound(name)),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(args: &'a str) -> Result<T, Error> {
    serde_json::from_str(args).map_err(|error| Error::InvalidParams(error.to_string()))
}

fn ask(call: &Call, asked: &RequestArgs) -> Result<String, Error> {
    let (key, params) = (asked.key.as_deref(), asked.params.to_string());
    match asked.method.as_str() {
        "sampling/createMessage" => sampling::create_message(call, key, &params),
        "elicitation/create" => elicitation::elicit(call, key, &params),
        _ => roots::list_roots(call, key).map(|roots| {
            let roots = roots.into_iter().map(|root| json!({"uri": root.uri, "name": root.name}));
            Value::Array(roots.collect()).to_string()
        }),
    }
}

fn batch(call: &Call, batch: Batch) -> Result<String, Error> {
    let input = |asked: RequestArgs| InputRequest {
        key: asked.key.unwrap_or_default(),
        body: match asked.method.as_str() {
            "sampling/createMessage" => Body::CreateMessage(asked.params.to_string()),
            "elicitation/create" => Body::Elicit(asked.params.to_string()),
            _ => Body::ListRoots,
        },
    };
    let inputs: Vec<InputRequest> = batch.requests.into_iter().map(input).collect();
    let responses = request_inputs(call, &inputs)?;
    let lines = responses.into_iter().map(|response| format!("{}: {}", response.key, said(response.outcome)));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn said(outcome: Result<String, Error>) -> String {
    outcome.unwrap_or_else(|error| format!("{error:?}"))
}

raw::export!(Plugin with_types_in plugport_test_guests::raw);
