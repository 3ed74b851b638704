//! Returns one text that is much too long.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult, number};

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(vec![raw::tool("text", &raw::amount("bytes")), raw::tool("error", &raw::amount("bytes"))])
    }

    fn call_tool(_: Call, name: String, args: String) -> Result<ToolResult, Error> {
        let text = "x".repeat(number(&args)?);
        if name == "error" { Err(Error::Internal(text)) } else { Ok(raw::text(&text)) }
    }
}

raw::export!(Plugin);
