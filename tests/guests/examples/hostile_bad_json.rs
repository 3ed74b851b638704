//! Returns structured content that is not JSON, or that harms its reader.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};

const TOOLS: [&str; 7] = ["forged", "deep", "nan", "huge_number", "twice", "bare", "extra"];

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(TOOLS.iter().map(|name| raw::tool(name, r#"{"type":"object"}"#)).collect())
    }

    fn call_tool(_: Call, name: String, _: String) -> Result<ToolResult, Error> {
        let structured = match name.as_str() {
            "forged" => "{\"forged\": true}, \"isError\": false, {".to_owned(),
            "deep" => format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000)),
            "nan" => "{\"a\": NaN}".to_owned(),
            "huge_number" => format!("{{\"a\": 1e999, \"b\": {}}}", "9".repeat(100_000)),
            "twice" => "{\"a\": 1, \"a\": 2, \"a\": 3}".to_owned(),
            "bare" => "7".to_owned(),
            _ => "{}".to_owned(),
        };
        let extra = (name == "extra").then(|| "{\"isError\": false, \"content\": []}".to_owned());
        Ok(ToolResult { structured: Some(structured), extra, ..raw::text("see the structured content") })
    }
}

raw::export!(Plugin);
