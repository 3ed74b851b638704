//! Every JSON-RPC error with its HTTP status, as the specification words it.

use plugport_tests::http_client::{Client, STATELESS, stateless_meta};
use plugport_tests::server::Server;
use serde_json::json;

const MODERN: &[(&str, &str)] =
    &[("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "polite-echo")];

#[tokio::test]
async fn malformed_messages_are_400_with_the_right_code() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("nonsense", -32700),
        ("1", -32600),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":5}"#, -32600),
    ] {
        let reply = client.post(&[], body).await;
        assert_eq!((reply.status, reply.error_code()), (400, code), "{body}: {reply:?}");
    }
}

#[tokio::test]
async fn malformed_parameters_are_never_a_missing_method() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "polite-echo", "arguments": [1] }),
        json!({ "name": "polite-echo", "arguments": "x" }),
        json!({ "name": "polite-nothing" }),
        json!({ "name": "polite-nothing", "arguments": {} }),
    ] {
        let reply = session.request("tools/call", params.clone()).await;
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{params}: {reply:?}");
        let mut modern = params.clone();
        modern["_meta"] = stateless_meta();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": modern }).to_string();
        let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call")];
        headers.extend(params["name"].as_str().map(|name| ("mcp-name", name)));
        let reply = client.post(&headers, body).await;
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{params}: {reply:?}");
    }
    let reply = session.request("tools/list", json!({ "cursor": "forged" })).await;
    assert_eq!(reply.error_code(), -32602, "{reply:?}");
}

#[tokio::test]
async fn unknown_methods_are_404_only_where_the_revision_says_so() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    for method in ["nothing/here", "ping", "logging/setLevel", "initialize", "resources/subscribe"] {
        let reply = client.request(method, json!({})).await;
        assert_eq!((reply.status, reply.error_code()), (404, -32601), "{method}: {reply:?}");
    }
    let session = client.session("2025-06-18").await;
    for method in ["nothing/here", "server/discover"] {
        let reply = session.request(method, json!({})).await;
        assert_eq!((reply.status, reply.error_code()), (200, -32601), "{method}: {reply:?}");
    }
}

#[tokio::test]
async fn a_stateless_request_must_say_what_it_is() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let call = |meta: serde_json::Value| {
        json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call",
                "params": { "name": "polite-echo", "arguments": { "message": "x" }, "_meta": meta } })
        .to_string()
    };
    let whole = stateless_meta();
    let without = |key: &str| {
        let mut meta = whole.clone();
        meta.as_object_mut().unwrap().remove(key);
        meta
    };
    let reply = client.post(MODERN, call(without("io.modelcontextprotocol/clientCapabilities"))).await;
    assert_eq!((reply.status, reply.error_code()), (400, -32602), "{reply:?}");
    let reply = client.post(MODERN, call(without("io.modelcontextprotocol/protocolVersion"))).await;
    assert_eq!((reply.status, reply.error_code()), (400, -32602), "{reply:?}");
    assert_eq!(reply.response()["id"], 9);

    let mut future = whole.clone();
    future["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let headers =
        [("mcp-protocol-version", "2031-01-01"), ("mcp-method", "tools/call"), ("mcp-name", "polite-echo")];
    let reply = client.post(&headers, call(future)).await;
    assert_eq!((reply.status, reply.error_code()), (400, -32022), "{reply:?}");
    assert_eq!(reply.response()["error"]["data"]["requested"], "2031-01-01");
    assert_eq!(reply.response()["error"]["data"]["supported"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn headers_that_differ_from_the_body_are_rejected() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "polite-echo", "arguments": { "message": "x" }, "_meta": stateless_meta() } })
    .to_string();
    assert_eq!(client.post(MODERN, body.clone()).await.tool_text(), "x");
    for wrong in
        [("mcp-method", "tools/list"), ("mcp-name", "polite-add"), ("mcp-protocol-version", "2025-11-25")]
    {
        let headers: Vec<_> =
            MODERN.iter().map(|pair| if pair.0 == wrong.0 { wrong } else { *pair }).collect();
        let reply = client.post(&headers, body.clone()).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32020), "{wrong:?}: {reply:?}");
        let headers: Vec<_> = MODERN.iter().filter(|pair| pair.0 != wrong.0).copied().collect();
        let reply = client.post(&headers, body.clone()).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32020), "{wrong:?} missing: {reply:?}");
    }
}
