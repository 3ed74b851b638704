//! Returns a great many small items.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult, number};

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        Ok(vec![raw::tool("items", &raw::amount("count"))])
    }

    fn call_tool(_: Call, _: String, args: String) -> Result<ToolResult, Error> {
        let item = raw::text("x").content;
        let content = item.into_iter().cycle().take(number(&args)?).collect();
        Ok(ToolResult { content, ..raw::text("") })
    }
}

raw::export!(Plugin);
