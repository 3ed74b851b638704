//! The SSE streams of sessions: unsolicited messages, resumption, streams that the server closes, and streams beside
//! each other.

use std::time::Duration;

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

use crate::mcp::session_client_requests::{capabilities, client_requests_server};

fn narrate(steps: u32) -> serde_json::Value {
    json!({ "name": "polite-narrate", "arguments": { "steps": steps }, "_meta": { "progressToken": "p" } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_is_resumed_after_the_last_event_that_was_seen() {
    let server = Server::builder().guest("polite").start().await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    let mut whole = session.stream(json!(1), "tools/call", narrate(3)).await;
    let mut events = Vec::new();
    while let Some(event) = whole.event().await {
        events.push(event);
    }
    assert_eq!(events[0].data, "", "the first event only says from where to resume");
    let ids: Vec<&str> = events.iter().map(|event| event.id.as_deref().unwrap()).collect();
    let mut resumed = session.listen(Some(ids[1])).await;
    for event in &events[2..] {
        assert_eq!(resumed.event().await.as_ref(), Some(event));
    }
    assert_eq!(resumed.event().await, None);
    for unknown in ["99-1", "nonsense", "1-ffff"] {
        assert_eq!(session.listen(Some(unknown)).await.status, 400, "{unknown}");
    }
    let other = Client::new(server.url()).session("2025-11-25").await;
    assert_eq!(other.listen(Some(ids[1])).await.status, 400, "streams belong to their session");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_silent_has_its_stream_closed_and_its_answer_fetched() {
    let server = Server::builder().guest("polite").config("[server]\nsse_close_ms = 200\n").start().await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    let nap = json!({ "name": "polite-nap", "arguments": { "ms": 900 } });
    let mut stream = session.stream(json!(5), "tools/call", nap).await;
    let mut last = stream.event().await.unwrap().id.unwrap();
    let mut visits = 0;
    let response = loop {
        match stream.event().await {
            Some(event) if !event.data.is_empty() => break event.message(),
            Some(event) => last = event.id.unwrap_or(last),
            None => {
                visits += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
                stream = session.listen(Some(&last)).await;
                assert_eq!(stream.status, 200);
            }
        }
    };
    assert!(response["id"] == 5 && visits >= 2, "{response} after {visits} visits");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_answer_pings_loses_its_session() {
    let server = Server::builder().guest("polite").config("[server]\nping_interval_s = 1\n").start().await;
    let client = Client::new(server.url());
    let (polite, silent) = (client.session("2025-11-25").await, client.session("2025-11-25").await);
    let (mut heard, mut unheard) = (polite.listen(None).await, silent.listen(None).await);
    for _ in 0..3 {
        let ping = heard.message().await;
        assert_eq!(ping["method"], "ping");
        polite.respond(&ping, json!({})).await;
    }
    assert_eq!(unheard.message().await["method"], "ping");
    assert_eq!(unheard.event().await, None, "its stream ends");
    assert_eq!(silent.request("ping", json!({})).await.status, 404);
    assert_eq!(polite.request("ping", json!({})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_silent_for_too_long_ends() {
    let server = Server::builder().guest("polite").config("[server]\nsession_idle_s = 1\n").start().await;
    let client = Client::new(server.url());
    let (silent, waiting) = (client.session("2025-06-18").await, client.session("2025-06-18").await);
    let _stream = waiting.listen(None).await;
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    assert_eq!(silent.request("ping", json!({})).await.status, 404);
    assert_eq!(waiting.request("ping", json!({})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_delays_neither_itself_nor_others() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    // Far more than any buffer holds, and the client does not read.
    let unread = session.stream(json!("flood"), "tools/call", narrate(2_000)).await;
    for at in 0..20 {
        let echo = session.request_as(
            json!(at),
            "tools/call",
            json!({ "name": "polite-echo", "arguments": { "message": "x" } }),
        );
        assert_eq!(echo.await.tool_text(), "x");
        assert_eq!(client.call("polite-echo", json!({ "message": "y" })).await.tool_text(), "y");
    }
    drop(unread);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_streams_of_one_session_carry_their_own_messages_only() {
    let server = client_requests_server("").await;
    let session = Client::new(server.url()).session_with("2025-11-25", capabilities()).await;
    let roots = json!({ "name": "ask", "arguments": { "method": "roots/list" } });
    let mut streams = Vec::new();
    for id in 0..3 {
        streams.push(session.stream(json!(id), "tools/call", roots.clone()).await);
    }
    let mut client_requests = Vec::new();
    for stream in &mut streams {
        client_requests.push(stream.message().await);
    }
    for (id, client_request) in client_requests.iter().enumerate().rev() {
        session.respond(client_request, json!({ "roots": [{ "uri": format!("file:///{id}") }] })).await;
    }
    for (id, stream) in streams.iter_mut().enumerate() {
        let response = stream.message().await;
        assert!(
            response["id"] == id && response.to_string().contains(&format!("file:///{id}")),
            "{response}"
        );
        assert_eq!(stream.event().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_end_give_their_memory_back() {
    let server = Server::builder().guest("library").alone().start().await;
    let client = Client::new(server.url());
    let round = async || {
        for _ in 0..200 {
            let session = client.session("2025-11-25").await;
            for at in 0..10 {
                let uri = format!("lib:item/{at}-{}/data", "x".repeat(1_000));
                let subscribed = session.request("resources/subscribe", json!({ "uri": uri })).await;
                assert_eq!(subscribed.result(), &json!({}));
            }
            drop(session.listen(None).await);
            assert_eq!(client.delete(&session.id).await, 204);
        }
    };
    round().await;
    let before = server.rss();
    round().await;
    round().await;
    let grown = server.rss().saturating_sub(before) >> 10;
    assert!(grown < 3 << 10, "400 sessions left {grown} KiB behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_comes_back_or_speaks_is_there_whatever_became_of_a_ping() {
    let server = Server::builder().guest("polite").config("[server]\nping_interval_s = 2\n").start().await;
    let client = Client::new(server.url());
    let (returning, speaking) = (client.session("2025-11-25").await, client.session("2025-11-25").await);
    let (mut first, mut unanswered) = (returning.listen(None).await, speaking.listen(None).await);
    assert_eq!(first.message().await["method"], "ping");
    assert_eq!(unanswered.message().await["method"], "ping");
    let mut second = returning.listen(None).await;
    let speaks = async {
        for _ in 0..8 {
            assert_eq!(speaking.request("ping", json!({})).await.status, 200);
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
    };
    let responds = async {
        let ping = second.message().await;
        assert_eq!(ping["method"], "ping", "the second stream lives");
        returning.respond(&ping, json!({})).await;
    };
    tokio::join!(speaks, responds);
    assert_eq!(speaking.request("ping", json!({})).await.status, 200);
}

/// A client that never reads its response occupies a connection and a guest, so the server closes the connection.
#[tokio::test]
async fn a_client_that_never_reads_is_given_up() {
    let config =
        "[server]\nwrite_timeout_s = 1\n[plugins.polite]\nlimits = { cpu_ms = 20000, log_kib = 65536 }\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let files = server.open_files();
    let address = server.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "polite-narrate", "arguments": { "steps": 200_000 }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "debug" } } });
    let body = body.to_string();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: polite-narrate\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await.unwrap();
    let given_up = async {
        // The first line is the listing at the start.
        while server.wait_for_audit("call", 2).await.len() < 2 || server.open_files() > files {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), given_up).await.expect("the connection is given up");
    let line = server.wait_for_audit("call", 2).await.remove(1);
    assert_eq!(line["outcome"], "cancelled", "{line}");
    drop(stream);
}
