//! Returns another listing each time: other names, descriptions and schemas.

use plugport_test_guests::raw::{self, Call, Error, Guest, Listing, Tool, ToolResult, list_changed};
use plugport_test_guests::wasi::random::get_random_bytes;

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let mark: String = get_random_bytes(8).iter().map(|byte| format!("{byte:02x}")).collect();
        let schema = format!(r#"{{"type":"object","properties":{{"p{mark}":{{"type":"string"}}}}}}"#);
        let shifted =
            Tool { description: Some(format!("Now {mark}.")), ..raw::tool(&format!("t{mark}"), &schema) };
        let stable = Tool { description: Some(format!("Still {mark}.")), ..raw::tool("shift", &schema) };
        Ok(vec![shifted, stable])
    }

    fn call_tool(_: Call, _: String, _: String) -> Result<ToolResult, Error> {
        list_changed(Listing::Tools);
        Ok(raw::text("shifted"))
    }
}

raw::export!(Plugin);
