//! The tools of the benchmark beside other servers (`tests/rivals`).
//!
//! The variants 1, 2 and 3 list 1, 100 and 5,000 tools instead, which all echo.

use std::hint::black_box;

use plugport_sdk::serde_json::{self, json};
use plugport_test_guests::raw::plugport::plugin::request::LogLevel;
use plugport_test_guests::raw::plugport::plugin::sampling;
use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};
use plugport_test_guests::variant;
use serde::Deserialize;

const MESSAGE: &str =
    r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;
const STEPS: &str = r#"{"type":"object","properties":{"steps":{"type":"integer"}},"required":["steps"]}"#;
const NOTHING: &str = r#"{"type":"object"}"#;

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Deserialize)]
struct Steps {
    steps: u32,
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let count = match variant() {
            1 => 1,
            2 => 100,
            3 => 5_000,
            _ => {
                let tools = [("echo", MESSAGE), ("work", STEPS), ("narrate", NOTHING), ("sample", NOTHING)];
                return Ok(tools.map(|(name, schema)| raw::tool(name, schema)).into());
            }
        };
        Ok((0..count).map(|number| raw::tool(&format!("tool-{number:04}"), MESSAGE)).collect())
    }

    fn call_tool(call: Call, name: String, args: String) -> Result<ToolResult, Error> {
        match name.as_str() {
            "work" => Ok(raw::text(&work(read::<Steps>(&args)?.steps).to_string())),
            "narrate" => {
                call.log(LogLevel::Info, None, r#""working""#);
                call.progress(1.0, Some(1.0), None);
                Ok(raw::text("told"))
            }
            "sample" => {
                let content = json!({ "type": "text", "text": "Greet me." });
                let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 9 });
                Ok(raw::text(&sampling::create_message(&call, None, &params.to_string())?))
            }
            _ => Ok(raw::text(&read::<Message>(&args)?.message)),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(args: &'a str) -> Result<T, Error> {
    serde_json::from_str(args).map_err(|error| Error::InvalidParams(error.to_string()))
}

/// Steps of a generator of random numbers, of which each needs the one before.
fn work(steps: u32) -> u32 {
    (0..black_box(steps)).fold(2_463_534_242, |mut value: u32, _| {
        value ^= value << 13;
        value ^= value >> 17;
        value ^ (value << 5)
    })
}

raw::export!(Plugin with_types_in plugport_test_guests::raw);
