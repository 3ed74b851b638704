//! Handshakes, version negotiation, and the beginning and end of sessions.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

#[tokio::test]
async fn every_revision_with_sessions_is_negotiated() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = client.session(revision).await;
        assert_eq!(session.revision, revision);
        assert!(
            session.id.len() >= 32 && session.id.bytes().all(|byte| byte.is_ascii_graphic()),
            "{}",
            session.id
        );
        assert_eq!(session.request("ping", json!({})).await.result(), &json!({}));
        assert_eq!(session.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    }
    for unknown in ["2026-07-28", "1999-01-01"] {
        assert_eq!(client.session(unknown).await.revision, "2025-11-25");
    }
}

#[tokio::test]
async fn discover_needs_no_handshake() {
    let server = Server::builder().guest("polite").start().await;
    let reply = Client::new(server.url()).request("server/discover", json!({})).await;
    let result = reply.result();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "plugport");
    assert!(
        result["ttlMs"].is_u64()
            && result["cacheScope"] == "public"
            && result["capabilities"]["tools"].is_object()
    );
    assert!(reply.headers.get("mcp-session-id").is_none());
}

#[tokio::test]
async fn a_session_ends_when_it_is_deleted() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    assert_eq!(client.delete(&session.id).await, 204);
    let reply = session.request("tools/list", json!({})).await;
    assert_eq!((reply.status, reply.error_code()), (404, -32600), "{reply:?}");
    assert_eq!(client.delete(&session.id).await, 404);
}

#[tokio::test]
async fn requests_without_a_session_are_told_to_begin_one() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let reply = client.post(&[], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!((reply.status, reply.error_code()), (400, -32600), "{reply:?}");
    assert!(reply.text.contains("initialize"), "{reply:?}");
    let headers = [("mcp-protocol-version", "1.0"), ("mcp-session-id", "x")];
    let reply = client.post(&headers, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!((reply.status, reply.error_code()), (400, -32022), "{reply:?}");
}

#[tokio::test]
async fn sessions_are_bounded() {
    let server = Server::builder().guest("polite").config("[server]\nmax_sessions = 2\n").start().await;
    let client = Client::new(server.url());
    let first = client.session("2025-11-25").await;
    let second = client.session("2025-11-25").await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    let reply = client.post(&[], body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(second.request("ping", json!({})).await.status, 200);
    assert_eq!(first.request("ping", json!({})).await.status, 404, "it had been silent for longest");
}

#[tokio::test]
async fn the_server_stops_when_it_is_told_to() {
    let server = Server::builder().guest("polite").start().await;
    assert_eq!(server.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_does_not_wait_for_a_call_of_a_session_without_end() {
    let server = Server::builder().guest("polite").start().await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    let nap = tokio::spawn(async move {
        let params = json!({ "name": "polite-nap", "arguments": { "ms": 25_000 } });
        tokio::time::timeout(std::time::Duration::from_millis(300), session.request("tools/call", params))
            .await
    });
    assert!(nap.await.unwrap().is_err());
    let begun = std::time::Instant::now();
    assert_eq!(server.terminate().await, Some(0));
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
}
