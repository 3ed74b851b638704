//! Answers with too much, and with what is not JSON.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};
use serde::Deserialize;

#[derive(Deserialize)]
struct Amount {
    #[serde(alias = "bytes", alias = "count")]
    amount: u32,
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(vec![
            raw::tool("huge_text", &amount("bytes")),
            raw::tool("bad_structured", r#"{"type":"object"}"#),
            raw::tool("many_items", &amount("count")),
        ])
    }

    fn call_tool(_: Call, name: String, args: String) -> Result<ToolResult, Error> {
        match name.as_str() {
            "huge_text" => Ok(raw::text(&"x".repeat(number(&args)?))),
            "bad_structured" => Ok(ToolResult {
                structured: Some("{\"forged\": true}, \"isError\": false, {".to_owned()),
                ..raw::text("see the structured content")
            }),
            "many_items" => {
                let item = raw::text("x").content;
                Ok(ToolResult {
                    content: item.into_iter().cycle().take(number(&args)?).collect(),
                    ..raw::text("")
                })
            }
            _ => Err(Error::NotFound(name)),
        }
    }
}

/// The schema of an object with this one number.
fn amount(name: &str) -> String {
    format!(
        r#"{{"type":"object","properties":{{"{name}":{{"type":"integer","minimum":0}}}},"required":["{name}"]}}"#
    )
}

fn number(args: &str) -> Result<usize, Error> {
    let amount: Amount =
        plugport_sdk::serde_json::from_str(args).map_err(|error| Error::InvalidParams(error.to_string()))?;
    Ok(amount.amount as usize)
}

raw::export!(Plugin);
