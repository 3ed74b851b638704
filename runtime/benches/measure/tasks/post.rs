//! A request of 2026-07-28, for the routes without a socket and for a connection.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::support::in_process::BenchFn;

const VERSION: &str = "2026-07-28";

/// One request.
pub struct Post {
    method: &'static str,
    /// What `Mcp-Name` repeats.
    name: String,
    body: String,
}

impl Post {
    /// `knows_tasks`: whether the client declares the extension.
    pub fn new(method: &'static str, name: &str, mut params: Value, knows_tasks: bool) -> Self {
        let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
        let capabilities = if knows_tasks { json!({ "extensions": extensions }) } else { json!({}) };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        Self { method, name: name.to_owned(), body }
    }

    pub fn call(tool: &str, arguments: Value, knows_tasks: bool) -> Self {
        Self::new("tools/call", tool, json!({ "name": tool, "arguments": arguments }), knows_tasks)
    }

    fn headers(&self) -> [(&'static str, &str); 5] {
        [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", VERSION),
            ("mcp-method", self.method),
            ("mcp-name", &self.name),
        ]
    }

    /// Its bytes on a connection; `client` is the address that a proxy would name.
    pub fn text(&self, address: SocketAddr, client: &str) -> String {
        let headers = self.headers().map(|(name, value)| format!("{name}: {value}\r\n")).concat();
        let length = self.body.len();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nx-forwarded-for: {client}\r\n{headers}\
             content-length: {length}\r\n\r\n{}",
            self.body
        )
    }

    async fn send(&self, router: &mut Router) -> Bytes {
        let mut request = Request::post("/mcp").header("host", "localhost");
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(self.body.clone())).unwrap();
        router.call(request).await.unwrap().into_body().collect().await.unwrap().to_bytes()
    }
}

/// The same request again and again, without a socket.
pub struct Repeated {
    pub router: Router,
    pub post: Post,
    /// What each response has in it.
    pub expected: &'static str,
}

impl BenchFn for Repeated {
    async fn once(&mut self) {
        let body = self.post.send(&mut self.router).await;
        let text = std::str::from_utf8(&body).unwrap();
        assert!(text.contains(self.expected), "{text}");
    }
}
