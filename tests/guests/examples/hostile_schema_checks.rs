//! Promises results by schemas that are cheap to write and dear to check, and keeps the promise.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult, number};

fn promised(tool: &str) -> Tool {
    let items = match tool {
        // Tried on every item, and fits none, which takes the longest. Of mixed types, so that no set is made of them.
        "compare" => format!(r#"{{"not":{{"enum":[{}0]}}}}"#, r#"0,"","#.repeat(12_000)),
        "alternatives" => format!(r#"{{"not":{{"anyOf":[{}false]}}}}"#, "false,".repeat(10_000)),
        "search" => r#"{"pattern":"[ab]*a[ab]{900}c"}"#.to_owned(),
        _ => r#"{"type":"string"}"#.to_owned(),
    };
    let output = format!(r#"{{"type":"object","properties":{{"a":{{"items":{items}}}}}}}"#);
    Tool { output_schema: Some(output), ..raw::tool(tool, &raw::amount("items")) }
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(["compare", "alternatives", "search", "faults"].map(promised).into())
    }

    fn call_tool(_: Call, name: String, args: String) -> Result<ToolResult, Error> {
        let items = number(&args)?;
        let list = match name.as_str() {
            "search" => format!("\"{}\"", "ab".repeat(items)),
            _ => vec!["1"; items].join(","),
        };
        Ok(ToolResult { structured: Some(format!(r#"{{"a":[{list}]}}"#)), ..raw::text("kept") })
    }
}

raw::export!(Plugin);
