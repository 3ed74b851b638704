//! Malformed requests as a table: the request, and the error that the specification requires. Errors of the envelope
//! and of the headers of a call are in `jsonrpc_errors`, those of `requestState` in `mrtr`.

use plugport_tests::http_client::{Client, HttpResponse, STATELESS};
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use reqwest::Method;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::client_requests_server;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn listing(meta: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": "m", "method": "tools/list", "params": { "_meta": meta } }).to_string()
}

async fn stateless(client: &Client, body: String) -> HttpResponse {
    client.post(&[("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")], body).await
}

#[tokio::test]
async fn stateless_requests_without_client_metadata() {
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
        assert_eq!(reply.response()["id"], "m", "{meta}");
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
        &[
            ("mcp-protocol-version", STATELESS),
            ("mcp-protocol-version", STATELESS),
            ("mcp-method", "tools/list"),
        ],
        &[("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list"), ("mcp-method", "ping")],
    ] {
        let reply = client.post(headers, body.clone()).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32020), "{headers:?}: {reply:?}");
    }
}

#[tokio::test]
async fn names_in_headers_that_are_not_those_in_the_body() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let params = json!({ "name": "polite-echo", "arguments": { "message": "x" },
                         "_meta": { VERSION: STATELESS, CAPABILITIES: {} } });
    let body = json!({ "jsonrpc": "2.0", "id": "m", "method": "tools/call", "params": params }).to_string();
    let encoded = "=?base64?cG9saXRlLWVjaG8=?=";
    for (names, code) in [
        (&["polite-echo"][..], None),
        (&[encoded], None),
        (&[], Some(-32020)),
        (&[""], Some(-32020)),
        (&["Polite-Echo"], Some(-32020)),
        (&["polite-echo", "polite-echo"], Some(-32020)),
        (&["polite-echo", "polite-add"], Some(-32020)),
        (&["=?base64?!!!?="], Some(-32020)),
        (&["=?base64?/w==?="], Some(-32020)),
        (&["=?base64?cG9saXRlLWFkZA==?="], Some(-32020)),
    ] {
        let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call")];
        headers.extend(names.iter().map(|name| ("mcp-name", *name)));
        let reply = client.post(&headers, body.clone()).await;
        assert_eq!(reply.response()["id"], "m");
        let Some(code) = code else {
            assert_eq!(reply.tool_text(), "x", "{names:?}");
            continue;
        };
        assert_eq!((reply.status, reply.error_code()), (400, code), "{names:?}: {reply:?}");
    }
}

#[tokio::test]
async fn invalid_messages_with_and_without_sessions() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let of_session = [("mcp-session-id", session.id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let stateless = [("mcp-protocol-version", STATELESS), ("mcp-method", "ping")];
    let meta = json!({ "_meta": { VERSION: STATELESS, CAPABILITIES: {} } });
    let mut rows: Vec<(String, i64)> =
        ["1.5", "1e400", "true", "{}", "[]", "null", "1234567890123456789012345678901234567890"]
            .iter()
            .map(|id| (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{meta}}}"#), -32600))
            .collect();
    rows.extend(
        [
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#, -32600),
            (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#, -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            ("[]", -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, -32700),
            ("{\u{feff}\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32700),
        ]
        .map(|(body, code)| (body.to_owned(), code)),
    );
    for (body, code) in rows {
        for headers in [&of_session, &stateless] {
            let reply = client.post(headers, body.clone()).await;
            assert_eq!((reply.status, reply.error_code()), (400, code), "{body}: {reply:?}");
        }
    }
    assert_eq!(session.request("ping", json!({})).await.status, 200, "the session is as it was");
    let marked = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let reply = client.post(&of_session, marked).await;
    assert_eq!(
        (reply.status, reply.result()),
        (200, &json!({})),
        "some programs begin every text with this mark"
    );
}

#[tokio::test]
async fn sessions_that_begin_wrongly() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let who = json!({ "name": "suite", "version": "1" });
    for params in [
        json!({ "protocolVersion": 20251125, "capabilities": {}, "clientInfo": who }),
        json!({ "capabilities": {}, "clientInfo": who }),
        json!({}),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params });
        let reply = client.post(&[], body.to_string()).await;
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{params}: {reply:?}");
        assert!(!reply.headers.contains_key("mcp-session-id"), "no session begins: {params}");
    }
    let session = client.session("2025-11-25").await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
    let again = json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params }).to_string();
    let reply = client.post(&[("mcp-session-id", &session.id)], again.clone()).await;
    assert_eq!((reply.status, reply.error_code()), (400, -32600), "{reply:?}");
    assert!(reply.text.contains("has begun already") && !reply.headers.contains_key("mcp-session-id"));
    assert_eq!(session.request("ping", json!({})).await.status, 200, "the session is as it was");
    assert_eq!(client.delete(&session.id).await, 204);
    assert_eq!(client.post(&[("mcp-session-id", &session.id)], again).await.status, 200, "it has ended");
    // An unknown revision gets the newest one with sessions, which the client may decline.
    for unknown in ["2031-01-01", "x", ""] {
        assert_eq!(client.session(unknown).await.revision, "2025-11-25", "{unknown:?}");
    }
}

#[tokio::test]
async fn methods_of_http_that_nobody_can_use() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let known = ("mcp-session-id", session.id.as_str());
    let unknown = ("mcp-session-id", "0123456789abcdef0123456789abcdef");
    let stateless = ("mcp-protocol-version", STATELESS);
    let events = ("accept", "text/event-stream");
    for (method, headers, status) in [
        (Method::GET, &[known, ("accept", "application/json")][..], 406),
        (Method::GET, &[events], 405),
        (Method::GET, &[events, stateless], 405),
        (Method::GET, &[events, unknown], 404),
        (Method::GET, &[unknown], 404),
        (Method::DELETE, &[], 405),
        (Method::DELETE, &[stateless], 405),
        (Method::DELETE, &[unknown], 404),
        (Method::PUT, &[known], 405),
        (Method::PATCH, &[known], 405),
        (Method::OPTIONS, &[], 405),
        (Method::POST, &[known], 415),
        (Method::DELETE, &[known], 204),
        (Method::DELETE, &[known], 404),
        (Method::GET, &[known, events], 404),
    ] {
        assert_eq!(client.status_of(method.clone(), headers).await, status, "{method} {headers:?}");
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
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(client.post(&[("mcp-session-id", "x")], response).await.status, 404);
    let unasked = client.session("2025-11-25").await.post(serde_json::from_str(response).unwrap()).await;
    assert_eq!(unasked.status, 202, "an answer to nothing is forgotten");
    assert_eq!(client.delete("0123456789abcdef0123456789abcdef").await, 404);
}

#[tokio::test]
async fn parameters_of_the_wrong_form() {
    let server = client_requests_server("").await;
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
    for method in ["resources/read", "resources/subscribe"] {
        let missing = session.request(method, json!({ "uri": "no:such" })).await;
        assert_eq!(missing.error_code(), -32002, "{missing:?}");
        assert_eq!(missing.response()["error"]["data"]["uri"], "no:such");
    }
    let nothing = session.request("resources/unsubscribe", json!({ "uri": "no:such" })).await;
    assert_eq!(nothing.result(), &json!({}), "it may have gone since");
}

#[tokio::test]
async fn what_is_wrong_is_named_by_its_field() {
    let server = client_requests_server("").await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    for (method, params, said) in [
        ("tools/call", json!({}), "`params`: missing field `name`"),
        ("tools/call", json!({ "name": 5 }), "`params.name`: invalid type: integer `5`, expected a string"),
        ("tools/call", json!({ "name": "ask", "arguments": [] }), "`params.arguments` must be an object"),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "x" } }),
            "`params.argument`: missing field `value`",
        ),
        (
            "prompts/get",
            json!({ "name": "x", "arguments": { "a": 1 } }),
            "`params.arguments.a`: invalid type: integer `1`, expected a string",
        ),
        (
            "tools/list",
            json!({ "_meta": { "io.modelcontextprotocol/clientInfo": 5 } }),
            "`params._meta.io.modelcontextprotocol/clientInfo`: invalid type",
        ),
        ("tools/list", json!({ "_meta": [] }), "`params._meta` must be an object"),
    ] {
        let reply = session.request(method, params.clone()).await;
        let told = reply.response()["error"]["message"].as_str().unwrap();
        assert!(told.contains(said) && !told.contains("column"), "{method} {params}: {told}");
    }
}

#[tokio::test]
async fn requests_that_are_too_large() {
    let server = Server::builder().guest("polite").config("[server]\nmessage_kib = 64\n").start().await;
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
    let mut pipe = StdioClient::start(folder.path());
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
