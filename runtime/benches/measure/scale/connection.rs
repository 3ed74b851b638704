//! One blocking connection that is kept alive, and the requests that are sent on it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

pub const SESSIONS: &str = "2025-11-25";
pub const STATELESS: &str = "2026-07-28";

/// A connection to a server.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: vec![0; 64 << 10] }
    }

    /// Sends a request and returns the text of its response, head and body, which must be a success.
    pub fn send(&mut self, request: &str) -> &str {
        self.stream.write_all(request.as_bytes()).unwrap();
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).unwrap();
            assert!(read > 0, "the server hung up");
            filled += read;
            let text = std::str::from_utf8(&self.buffer[..filled]).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = header(head, "content-length").map_or(0, |length| length.parse::<usize>().unwrap());
            if body.len() >= length {
                break;
            }
        }
        let text = std::str::from_utf8(&self.buffer[..filled]).unwrap();
        assert!(text.starts_with("HTTP/1.1 20"), "{text}");
        text
    }
}

/// The value of a header of a response.
pub fn header<'t>(response: &'t str, name: &str) -> Option<&'t str> {
    response.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

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
