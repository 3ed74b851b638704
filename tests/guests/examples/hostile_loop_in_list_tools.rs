//! Never returns from `list-tools`.

use std::hint::black_box;

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let mut turns = 0_u64;
        loop {
            turns = black_box(turns.wrapping_add(1));
        }
    }

    fn call_tool(_: Call, _: String, _: String) -> Result<ToolResult, Error> {
        Ok(raw::text("ok"))
    }
}

raw::export!(Plugin);
