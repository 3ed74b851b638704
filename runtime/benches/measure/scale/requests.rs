//! The bytes of the requests of sessions, of stateless calls and of listeners.

use serde_json::{Value, json};

pub const SESSIONS: &str = "2025-11-25";
pub const STATELESS: &str = "2026-07-28";

/// A POST with these headers besides those that all have.
pub fn post(address: &str, headers: &[(&str, &str)], body: &Value) -> String {
    let (headers, body) =
        (headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")), body.to_string());
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{}content-length: {}\r\n\r\n{body}",
        headers.collect::<String>(),
        body.len()
    )
}

/// A stateless call of a tool, by a client that has roots.
pub fn call(address: &str, tool: &str) -> String {
    let arguments = json!({ "key": "r", "method": "roots/list" });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    post(address, &headers, &body)
}

/// `_meta` of a stateless request.
pub fn meta() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": { "roots": {} } })
}
