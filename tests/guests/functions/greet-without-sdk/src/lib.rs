//! A plugin without an SDK: one tool, written against the WIT alone.

use exports::plugport::plugin::tools::{Call, Content, Error, Guest, Tool, ToolResult};
use plugport::plugin::request::LogLevel;
use plugport::plugin::types::ContentData;

// Reads the WIT, and writes the types and the trait that are used here.
wit_bindgen::generate!({ path: "wit", world: "tool-plugin" });

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": { "name": { "type": "string", "description": "Whom to greet." } },
    "required": ["name"],
    "additionalProperties": false
}"#;

struct Greeter;

impl Guest for Greeter {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(vec![Tool {
            name: "greet".to_owned(),
            title: None,
            description: Some("Greet someone by name.".to_owned()),
            input_schema: SCHEMA.to_owned(),
            output_schema: None,
            annotations: None,
            extra: None,
        }])
    }

    fn call_tool(call: Call, name: String, args: String) -> Result<ToolResult, Error> {
        if name != "greet" {
            return Err(Error::NotFound(name));
        }
        let args: serde_json::Value =
            serde_json::from_str(&args).map_err(|error| Error::InvalidParams(error.to_string()))?;
        // What is logged is JSON too.
        call.log(LogLevel::Info, None, "\"greeting\"");
        Ok(match args["name"].as_str().unwrap_or_default() {
            "" => text("a name has at least one letter", true),
            name => text(&format!("Hello, {name}!"), false),
        })
    }
}

fn text(words: &str, is_error: bool) -> ToolResult {
    let content = Content { data: ContentData::Text(words.to_owned()), annotations: None, extra: None };
    ToolResult { content: vec![content], structured: None, is_error, extra: None }
}

export!(Greeter);
