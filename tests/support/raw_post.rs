//! Raw POSTs on a socket, for clients that stop in the middle of a request or do not read.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::http_client::{STATELESS, stateless_meta};

/// The body of a stateless call with this id, these arguments and these further members of `_meta`.
pub fn call_body(id: &Value, tool: &str, arguments: &Value, more: &Value) -> String {
    let mut meta = stateless_meta();
    meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// The head of a POST of so many bytes.
pub fn post_head(authority: &str, headers: &[(&str, &str)], length: usize) -> String {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{more}content-length: {length}\r\n\r\n"
    )
}

/// The headers of a call without a session.
pub fn call_headers(tool: &str) -> [(&str, &str); 3] {
    [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)]
}

/// Connects and sends this. A connection that the server closes meanwhile is no failure.
pub async fn send(authority: &str, head: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(authority).await.unwrap();
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body).await;
    stream
}

/// All bytes until the connection ends or is reset. The server may reset the connection of a request that it rejects
/// before the whole body has come.
pub async fn read_all(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    String::from_utf8_lossy(&read).into_owned()
}

/// The first line of the response.
pub async fn status_line(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut piece = [0; 512];
    while !read.contains(&b'\n') {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(length) => read.extend_from_slice(&piece[..length]),
        }
    }
    let text = String::from_utf8_lossy(&read);
    text.lines().next().unwrap_or_default().to_owned()
}
