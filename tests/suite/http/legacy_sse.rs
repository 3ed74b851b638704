//! The HTTP+SSE transport of 2024-11-05: a stream names the URL to post to and carries every message.

use plugport_tests::http_client::{Client, Stream};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{capabilities, client_requests_server};

/// A client of the first revision.
struct LegacySseClient {
    stream: Stream,
    post: Client,
}

impl LegacySseClient {
    async fn open(server: &Server) -> Self {
        let base = server.url().trim_end_matches("/mcp").to_owned();
        let client = Client::new(format!("{base}/sse"));
        let mut stream = client.listen(&[]).await;
        let endpoint = stream.event().await.unwrap();
        assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
        assert!(endpoint.data.starts_with("/messages?sessionId="), "{endpoint:?}");
        let post = client.at(format!("{base}{}", endpoint.data));
        Self { stream, post }
    }

    async fn send(&self, message: Value) {
        let reply = self.post.post(&[], message.to_string()).await;
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    async fn initialize(&mut self) {
        let params = json!({ "protocolVersion": "2024-11-05", "capabilities": capabilities(),
                             "clientInfo": { "name": "suite", "version": "1" } });
        self.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
        assert_eq!(self.stream.message().await["result"]["protocolVersion"], "2024-11-05");
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_sends_client_requests_over_http_and_sse() {
    let server = client_requests_server("").await;
    let mut pair = LegacySseClient::open(&server).await;
    pair.initialize().await;
    let call = json!({ "name": "ask", "arguments": { "method": "roots/list" } });
    pair.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call })).await;
    let client_request = pair.stream.event().await.unwrap();
    assert_eq!(client_request.name.as_deref(), Some("message"));
    let client_request = client_request.message();
    assert_eq!(client_request["method"], "roots/list");
    let roots = json!({ "roots": [{ "uri": "file:///old" }] });
    pair.send(json!({ "jsonrpc": "2.0", "id": client_request["id"], "result": roots })).await;
    let response = pair.stream.message().await;
    assert!(response["id"] == 1 && response.to_string().contains("file:///old"), "{response}");
    pair.post.post(&[], "{").await;
    assert_eq!(pair.stream.message().await["error"]["code"], -32700);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_is_the_session() {
    let server = client_requests_server("").await;
    let mut pair = LegacySseClient::open(&server).await;
    pair.initialize().await;
    let files = server.open_files();
    let LegacySseClient { stream, post } = pair;
    drop(stream);
    let mut status = 202;
    for _ in 0..100 {
        status =
            post.post(&[], json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string()).await.status;
        if status == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(status, 404);
    assert!(server.open_files() <= files);
    let base = server.url().trim_end_matches("/mcp").to_owned();
    assert_eq!(Client::new(format!("{base}/messages")).post(&[], "{}").await.status, 400);
    assert_eq!(Client::new(format!("{base}/messages?sessionId=x")).post(&[], "{}").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_proxy_the_address_has_its_prefix() {
    let server = client_requests_server("").await;
    let base = server.url().trim_end_matches("/mcp").to_owned();
    let client = Client::new(format!("{base}/sse"));
    let mut stream = client.listen(&[("x-forwarded-prefix", "/tools/")]).await;
    assert!(stream.event().await.unwrap().data.starts_with("/tools/messages?sessionId="));
    assert_eq!(client.listen(&[("x-forwarded-prefix", "//evil.example")]).await.status, 400);
}
