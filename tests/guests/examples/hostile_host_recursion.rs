//! Leads the host into a recursion: it reports a changed list while it lists, so it is listed again.

use plugport_test_guests::raw::{self, Call, Error, Guest, Listing, Tool, ToolResult, list_changed};

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        list_changed(Listing::Tools);
        Ok(vec![raw::tool("again", r#"{"type":"object"}"#)])
    }

    fn call_tool(_: Call, _: String, _: String) -> Result<ToolResult, Error> {
        for _ in 0..1_000 {
            list_changed(Listing::Tools);
        }
        Ok(raw::text("told"))
    }
}

raw::export!(Plugin);
