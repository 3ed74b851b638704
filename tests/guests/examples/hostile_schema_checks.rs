//! Returns results that match schemas which are cheap to write and expensive to validate. One tool has such a schema
//! for its arguments.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult, number};

/// Values that are compared with every item and equal none, which takes the longest. They have mixed types, so that the
/// validator makes no set of them.
fn compared() -> String {
    format!(r#"{{"not":{{"enum":[{}0]}}}}"#, r#"0,"","#.repeat(12_000))
}

fn about_items(items: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"a":{{"items":{items}}}}}}}"#)
}

fn promised(tool: &str) -> Tool {
    let items = match tool {
        "compare" => compared(),
        "alternatives" => format!(r#"{{"not":{{"anyOf":[{}false]}}}}"#, "false,".repeat(10_000)),
        "search" => r#"{"pattern":"[ab]*a[ab]{900}c"}"#.to_owned(),
        _ => r#"{"type":"string"}"#.to_owned(),
    };
    Tool { output_schema: Some(about_items(&items)), ..raw::tool(tool, &raw::amount("items")) }
}

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let mut tools = Vec::from(["compare", "alternatives", "search", "faults"].map(promised));
        tools.push(raw::tool("want", &about_items(&compared())));
        Ok(tools)
    }

    fn call_tool(_: Call, name: String, args: String) -> Result<ToolResult, Error> {
        if name == "want" {
            return Ok(raw::text("had"));
        }
        let items = number(&args)?;
        let list = match name.as_str() {
            "search" => format!("\"{}\"", "ab".repeat(items)),
            _ => vec!["1"; items].join(","),
        };
        Ok(ToolResult { structured: Some(format!(r#"{{"a":[{list}]}}"#)), ..raw::text("kept") })
    }
}

raw::export!(Plugin);
