//! Malformed input, row by row: what is sent, and what goes back as the specification words it. What concerns the envelope
//! and the headers of a call is in `errors`, what concerns `requestState` in `rounds`.

use plugport_tests::http::{Client, Reply, STATELESS};
use plugport_tests::server::Server;
use plugport_tests::stdio::Pipe;
use serde_json::{Value, json};

use crate::asking::asker;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn listing(meta: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": "m", "method": "tools/list", "params": { "_meta": meta } }).to_string()
}

async fn stateless(client: &Client, body: String) -> Reply {
    client.post(&[("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")], body).await
}

#[tokio::test]
async fn a_stateless_request_that_does_not_say_who_asks() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    for (meta, code) in [
        (json!({ VERSION: STATELESS }), -32602),
        (json!({ VERSION: STATELESS, CAPABILITIES: null }), -32602),
        (json!({ VERSION: STATELESS, CAPABILITIES: [] }), -32602),
        (json!({ VERSION: STATELESS, CAPABILITIES: "all" }), -32602),
        (json!({ VERSION: 20260728, CAPABILITIES: {} }), -32602),
        (json!({ CAPABILITIES: {} }), -32602),
        (json!({}), -32602),
        (json!("meta"), -32602),
        (json!({ VERSION: "2026-07-29", CAPABILITIES: {} }), -32020),
        (json!({ VERSION: "2025-11-25", CAPABILITIES: {} }), -32020),
        (json!({ VERSION: STATELESS, CAPABILITIES: {}, "io.modelcontextprotocol/logLevel": "loud" }), -32602),
        (json!({ VERSION: STATELESS, CAPABILITIES: {}, "io.modelcontextprotocol/logLevel": 5 }), -32602),
    ] {
        let reply = stateless(&client, listing(&meta)).await;
        let status = if meta["io.modelcontextprotocol/logLevel"] == "loud" { 200 } else { 400 };
        assert_eq!((reply.status, reply.error_code()), (status, code), "{meta}: {reply:?}");
        assert_eq!(reply.answer()["id"], "m", "{meta}");
    }
}

#[tokio::test]
async fn headers_that_are_missing_twice_there_or_not_text() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let body = listing(&json!({ VERSION: STATELESS, CAPABILITIES: {} }));
    for headers in [
        &[][..],
        &[("mcp-method", "tools/list")],
        &[("mcp-protocol-version", STATELESS)],
        &[("mcp-protocol-version", STATELESS), ("mcp-method", "Tools/List")],
        &[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
        &[("mcp-protocol-version", STATELESS), ("mcp-method", "tools/listé")],
    ] {
        let reply = client.post(headers, body.clone()).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32020), "{headers:?}: {reply:?}");
    }
}

#[tokio::test]
async fn sessions_that_are_unknown_or_missing() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (headers, status) in [
        (&[][..], 400),
        (&[("mcp-session-id", "")], 404),
        (&[("mcp-session-id", "0123456789abcdef0123456789abcdef")], 404),
        (&[("mcp-session-id", "a b")], 404),
    ] {
        let reply = client.post(headers, ping).await;
        assert_eq!((reply.status, reply.error_code()), (status, -32600), "{headers:?}: {reply:?}");
        let stream = client.listen(headers).await;
        assert_eq!(stream.status, if status == 400 { 405 } else { status }, "{headers:?}");
    }
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(client.post(&[("mcp-session-id", "x")], answer).await.status, 404);
    let unasked = client.session("2025-11-25").await.post(serde_json::from_str(answer).unwrap()).await;
    assert_eq!(unasked.status, 202, "an answer to nothing is forgotten");
    assert_eq!(client.delete("0123456789abcdef0123456789abcdef").await, 404);
}

#[tokio::test]
async fn parameters_of_the_wrong_form() {
    let server = asker("").await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    for (method, params) in [
        ("tools/list", json!({ "cursor": "forged" })),
        ("tools/list", json!({ "cursor": 5 })),
        ("resources/list", json!({ "cursor": "0000000000000000-1" })),
        ("resources/templates/list", json!({ "cursor": "" })),
        ("prompts/list", json!({ "cursor": "tools" })),
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": 5 })),
        ("resources/subscribe", json!({})),
        ("resources/subscribe", json!({ "uri": "x".repeat(3_000) })),
        ("prompts/get", json!({ "name": "no-such-prompt" })),
        ("prompts/get", json!({ "name": ["x"] })),
        ("completion/complete", json!({})),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/nothing" }, "argument": { "name": "a", "value": "b" } }),
        ),
        ("logging/setLevel", json!({ "level": "loud" })),
        ("logging/setLevel", json!({})),
    ] {
        let reply = session.request(method, params.clone()).await;
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{method} {params}: {reply:?}");
    }
    let missing = session.request("resources/read", json!({ "uri": "no:such" })).await;
    assert_eq!(missing.error_code(), -32002, "{missing:?}");
    assert_eq!(missing.answer()["error"]["data"]["uri"], "no:such");
}

#[tokio::test]
async fn more_than_anyone_needs() {
    let server = Server::builder().guest("polite").config("[server]\nbody_kib = 64\n").start().await;
    let client = Client::new(server.url());
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(70_000));
    assert_eq!(client.post(&[], large).await.status, 413);
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"polite-echo","arguments":{deep},"_meta":{{"{VERSION}":"{STATELESS}","{CAPABILITIES}":{{}}}}}}}}"#
        );
        let headers =
            [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "polite-echo")];
        let reply = client.post(&headers, body).await;
        assert!(matches!(reply.error_code(), -32700 | -32602 | -32600), "{reply:?}");
    }
    assert_eq!(
        client.call("polite-echo", json!({ "message": "still here" })).await.tool_text(),
        "still here"
    );
}

#[tokio::test]
async fn lines_on_stdio() {
    let folder = plugport_tests::guests::folder(&["polite"]);
    let mut pipe = Pipe::start(folder.path());
    for (line, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        ("[]", -32600),
        ("5", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, -32602),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
    ] {
        pipe.send(line).await;
        assert_eq!(pipe.next().await["error"]["code"], code, "{line}");
    }
    pipe.initialize("2025-11-25").await;
    pipe.request(json!(1), "ping", json!({})).await;
    assert_eq!(pipe.next().await["result"], json!({}));
}
