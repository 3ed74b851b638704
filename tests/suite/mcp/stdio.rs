//! The stdio transport: one message per line, and nothing but MCP on stdout.

use plugport_tests::guests::{LONG_START, folder};
use plugport_tests::http_client::stateless_meta;
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{GRANTED, capabilities, model_says, prompt};

/// The maximum length of a line, bytes.
const LONGEST: usize = 4 << 20;

#[tokio::test]
async fn sessions_and_stateless_requests_share_one_connection() {
    let folder = folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.request(json!("d"), "server/discover", json!({ "_meta": stateless_meta() })).await;
    assert_eq!(pipe.next().await["result"]["resultType"], "complete");
    pipe.request(json!(0), "tools/list", json!({})).await;
    assert_eq!(pipe.next().await["error"]["code"], -32602, "neither a session nor `_meta`");
    assert_eq!(pipe.initialize("2025-06-18").await["result"]["protocolVersion"], "2025-06-18");
    let call = json!({ "name": "polite-echo", "arguments": { "message": "héllo ✓" } });
    pipe.request(json!(1), "tools/call", call.clone()).await;
    assert_eq!(pipe.next().await["result"], json!({ "content": [{ "type": "text", "text": "héllo ✓" }] }));
    let mut modern = call;
    modern["_meta"] = stateless_meta();
    pipe.request(json!("m"), "tools/call", modern).await;
    let response = pipe.next().await;
    assert_eq!((&response["id"], &response["result"]["resultType"]), (&json!("m"), &json!("complete")));
    let (lines, _, code) = pipe.end().await;
    assert_eq!((lines.len(), code), (0, Some(0)));
}

#[tokio::test]
async fn what_a_guest_prints_never_reaches_the_client() {
    let folder = folder(&["hostile_log_flood"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    pipe.request(json!(2), "tools/call", json!({ "name": "hostile_log_flood-forge", "arguments": {} })).await;
    let response = pipe.next().await;
    assert_eq!(response["id"], 2, "a forged line came first: {response}");
    let (lines, said, _) = pipe.end().await;
    assert!(lines.is_empty(), "{lines:?}");
    assert!(said.contains("forged") && said.contains("stream=\"stdout\""), "{said}");
}

#[tokio::test]
async fn bad_lines_are_answered_and_good_ones_still_work() {
    let folder = folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.send("not json").await;
    assert_eq!(pipe.next().await["error"]["code"], -32700);
    pipe.send(&"x".repeat(5 << 20)).await;
    assert_eq!(pipe.next().await["error"]["code"], -32600);
    pipe.send("").await;
    pipe.initialize("2025-11-25").await;
    pipe.request(json!(1), "ping", json!({})).await;
    assert_eq!(pipe.next().await["result"], json!({}));
    pipe.send("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}").await;
    assert_eq!(pipe.next().await["result"], json!({}));
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    pipe.request(json!(3), "initialize", params).await;
    let again = pipe.next().await;
    assert!(again["error"]["message"].as_str().unwrap().contains("was already done here"), "{again}");
}

/// A call of so many bytes with the `id` as its last member.
fn call_of(bytes: usize, id: i64, meta: &Value) -> String {
    let line = |message: &str| {
        let arguments = json!({ "message": message });
        let params = json!({ "name": "polite-echo", "arguments": arguments, "_meta": meta });
        json!({ "method": "tools/call", "params": params, "jsonrpc": "2.0", "id": id }).to_string()
    };
    line(&"x".repeat(bytes - line("").len()))
}

#[tokio::test]
async fn a_request_that_is_too_long_is_answered_under_its_own_id() {
    let folder = folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    for meta in [json!({}), stateless_meta()] {
        // The test reads only after both are written.
        for (id, bytes) in [(1, 6 << 20), (2, LONGEST + 1)] {
            pipe.send(&call_of(bytes, id, &meta)).await;
        }
        for id in [1, 2] {
            let response = pipe.next().await;
            assert_eq!((&response["id"], &response["error"]["code"]), (&json!(id), &json!(-32600)));
            assert!(
                response["error"]["message"].as_str().unwrap().contains("4096 KiB (limit `message_kib`)")
            );
        }
        pipe.send(&call_of(LONGEST, 3, &meta)).await;
        let response = pipe.next().await;
        let echoed = response["result"]["content"][0]["text"].as_str().map(str::len);
        assert!(response["id"] == 3 && echoed.is_some_and(|bytes| bytes > LONGEST - 1_000), "{echoed:?}");
    }
}

#[tokio::test]
async fn a_client_request_whose_response_is_too_long_fails() {
    let folder = folder(&["client_requests"]);
    std::fs::write(folder.path().join("plugport.toml"), format!("{LONG_START}{GRANTED}")).unwrap();
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize_with("2025-11-25", capabilities()).await;
    let ask = json!({ "method": "sampling/createMessage", "params": prompt() });
    pipe.request(json!(1), "tools/call", json!({ "name": "ask", "arguments": ask })).await;
    let client_request = pipe.next().await;
    let result = model_says(&"x".repeat(LONGEST));
    pipe.send(&json!({ "jsonrpc": "2.0", "id": client_request["id"], "result": result }).to_string()).await;
    assert_eq!(pipe.next().await.get("id"), None, "it was no request");
    let response = pipe.next().await;
    let told = response["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        response["id"] == 1 && told.contains("it is longer than 4096 KiB (limit `message_kib`)"),
        "{told}"
    );
}

#[tokio::test]
async fn a_client_that_closes_the_log_is_served() {
    let folder = folder(&["hostile_log_flood"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    pipe.close_log();
    for id in [1, 2] {
        let forge = json!({ "name": "hostile_log_flood-forge", "arguments": {} });
        pipe.request(json!(id), "tools/call", forge).await;
        assert_eq!(pipe.next().await["result"]["content"][0]["text"], "printed");
    }
    assert_eq!(pipe.end().await.2, Some(0));
}

#[tokio::test]
async fn a_client_that_never_reads_the_log_is_served() {
    let folder = folder(&["hostile_log_flood"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    // Some 600 bytes each, of which a pipe holds a hundred.
    for id in 1..=400 {
        let forge = json!({ "name": "hostile_log_flood-forge", "arguments": {} });
        pipe.request(json!(id), "tools/call", forge).await;
        assert_eq!(pipe.next().await["result"]["content"][0]["text"], "printed");
    }
    let (lines, said, code) = pipe.end().await;
    assert!(lines.is_empty() && code == Some(0), "{lines:?}, {code:?}");
    assert!(said.len() > 60_000 && !said.contains("panicked"), "{}", said.len());
}

#[tokio::test]
async fn requests_run_side_by_side_and_finish_after_the_input_ends() {
    let folder = folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    pipe.request(json!("slow"), "tools/call", json!({ "name": "polite-nap", "arguments": { "ms": 800 } }))
        .await;
    pipe.request(json!("quick"), "ping", json!({})).await;
    assert_eq!(pipe.next().await["id"], "quick");
    let (lines, _, code) = pipe.end().await;
    assert!(lines.len() == 1 && lines[0].contains("rested"), "{lines:?}");
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn an_id_in_use_is_rejected() {
    let folder = folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    pipe.request(json!(1), "tools/call", json!({ "name": "polite-nap", "arguments": { "ms": 500 } })).await;
    pipe.request(json!(1), "ping", json!({})).await;
    assert_eq!(pipe.next().await["error"]["code"], -32600);
    assert_eq!(pipe.next().await["result"]["content"][0]["text"], "rested");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_does_not_keep_a_client_from_cancelling() {
    let folder = plugport_tests::guests::folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    pipe.request(json!("l"), "logging/setLevel", json!({ "level": "debug" })).await;
    pipe.next().await;
    let narrate = json!({ "name": "polite-narrate", "arguments": { "steps": 2_000 } });
    pipe.request(json!("flood"), "tools/call", narrate).await;
    for _ in 0..50 {
        pipe.next().await;
    }
    pipe.request(json!("ping"), "ping", json!({})).await;
    let mut before = 0;
    while pipe.next().await["id"] != "ping" {
        before += 1;
    }
    assert!(before < 1_000, "the answer came after {before} messages");
}
