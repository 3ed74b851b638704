//! The echo for ACT, without its SDK, which lacks its own interfaces. It does less than that would: it takes the text
//! out of its CBOR without a decoder.

wit_bindgen::generate!({ path: "wit", generate_all });

use act::core::types::{Error, LocalizedString, Metadata};
use act::tools::types::{ContentPart, ListToolsResponse, ToolDefinition, ToolEvent};
use exports::act::tools::tool_provider::{Guest, ToolResult};

const SCHEMA: &str = r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;

struct Plugin;

impl Guest for Plugin {
    async fn list_tools(_: Metadata) -> Result<ListToolsResponse, Error> {
        let echo = ToolDefinition {
            name: "rivals-echo".to_owned(),
            description: LocalizedString::Plain("The tool echo.".to_owned()),
            parameters_schema: SCHEMA.to_owned(),
            metadata: Vec::new(),
        };
        Ok(ListToolsResponse { metadata: Vec::new(), tools: vec![echo] })
    }

    async fn call_tool(_: String, arguments: Vec<u8>, _: Metadata) -> ToolResult {
        let event = match text(&arguments) {
            Some(text) => ToolEvent::Content(ContentPart {
                data: text.to_owned(),
                mime_type: Some("text/plain".to_owned()),
                metadata: Vec::new(),
            }),
            None => ToolEvent::Error(Error {
                kind: "std:invalid-args".to_owned(),
                message: LocalizedString::Plain("there is no message".to_owned()),
                metadata: Vec::new(),
            }),
        };
        ToolResult::Immediate(vec![event])
    }
}

/// The value in CBOR of `{"message": TEXT}`.
fn text(arguments: &[u8]) -> Option<&[u8]> {
    let value = arguments.strip_prefix(b"\xa1\x67message")?;
    let digits = match value.first()? {
        0x60..=0x77 => 0,
        0x78 => 1,
        0x79 => 2,
        0x7a => 4,
        _ => return None,
    };
    value.get(1 + digits..)
}

export!(Plugin);
