//! Tools with forbidden names. Each variant is one kind; the tool `ok` is always valid.

use plugport_test_guests::raw::{self, Call, Error, Guest, Tool, ToolResult};

struct Plugin;

impl Guest for Plugin {
    fn list_tools() -> Result<Vec<Tool>, Error> {
        let schema = r#"{"type":"object"}"#;
        let mut tools = vec![raw::tool("ok", schema)];
        tools.extend(names().iter().map(|name| raw::tool(name, schema)));
        Ok(tools)
    }

    fn call_tool(_: Call, _: String, _: String) -> Result<ToolResult, Error> {
        Ok(raw::text("ok"))
    }
}

fn names() -> Vec<String> {
    let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    match plugport_test_guests::variant() {
        0 => own(&["", " ", "a b", "\0", "line\nfeed", "\u{1b}[2J", "\u{7f}"]),
        1 => own(&[
            "\u{202e}ko",
            "o\u{200b}k",
            "\u{430}dd",
            "ok\u{e0041}",
            "\u{feff}ok",
            "\u{1f600}",
            "e\u{301}",
        ]),
        2 => own(&["../echo", "/etc/passwd", "a/b", "rpc.discover!", "polite:echo", "%2e%2e", "<b>", "`id`"]),
        3 => own(&["ok", "ok", "ok"]),
        4 => vec!["x".repeat(129), "y".repeat(100 << 10)],
        5 => (0..5_000).map(|at| format!("tool{at}")).collect(),
        _ => (0..1_000_000).map(|at| at.to_string()).collect(),
    }
}

raw::export!(Plugin);
