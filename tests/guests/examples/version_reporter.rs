//! Returns its variant: in its descriptions, in results, and after a client request.

use plugport_test_guests::raw::plugport::plugin::{elicitation, sampling};
use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};
use plugport_test_guests::variant;

const FORM: &str = r#"{"message":"Who?","requestedSchema":
    {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}"#;

const PROMPT: &str =
    r#"{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Who?"}}]}"#;

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let description = format!("Say that this is variant {}.", variant());
        let tool =
            |name| Tool { description: Some(description.clone()), ..raw::tool(name, r#"{"type":"object"}"#) };
        Ok(["version", "ask_model", "ask_person"].map(tool).into())
    }

    fn call_tool(call: Call, name: String, _: String) -> Result<ToolResult, Error> {
        let before = variant();
        let heard = match name.as_str() {
            "version" => return Ok(raw::text(&before.to_string())),
            "ask_model" => sampling::create_message(&call, Some("who"), PROMPT)?,
            "ask_person" => elicitation::elicit(&call, Some("who"), FORM)?,
            _ => return Err(Error::NotFound(name)),
        };
        Ok(raw::text(&format!("{before} asked, {} heard {heard}", variant())))
    }
}

raw::export!(Plugin with_types_in plugport_test_guests::raw);
