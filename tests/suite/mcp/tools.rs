//! `tools/list` and `tools/call`, in every revision.

use plugport_tests::guests::guest;
use plugport_tests::http_client::{Client, STATELESS, stateless_meta};
use plugport_tests::server::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn pages_follow_each_other_in_one_order() {
    let server =
        Server::builder().guest("polite").guest("schemas").config("[server]\npage_size = 2\n").start().await;
    let client = Client::new(server.url());
    let mut names = Vec::new();
    let mut cursor = json!(null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let reply = client.request("tools/list", params).await;
        let tools = reply.result()["tools"].as_array().unwrap().clone();
        assert!(tools.len() <= 2);
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        assert!(reply.result()["ttlMs"].is_u64() && reply.result()["cacheScope"] == "public");
        cursor = reply.result()["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(names, sorted);
    assert!(
        names.contains(&"polite-echo".to_owned()) && names.iter().any(|name| name.starts_with("schemas-"))
    );
}

/// The guest of `cargo measure rivals`, so that the benchmark measures what it says.
#[tokio::test]
async fn the_guest_of_the_benchmark_works_and_lists_a_hundred_tools() {
    let mut many = std::fs::read(guest("rivals")).unwrap();
    let mark = b"hostile-variant:";
    let at = many.windows(mark.len()).position(|window| window == mark).unwrap();
    many[at + mark.len()] = b'2';
    let server = Server::builder().guest("rivals").file("many.wasm", &many).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("rivals-work", json!({ "steps": 3 })).await.tool_text(), "2064144800");
    assert_eq!(client.call("rivals-echo", json!({ "message": "x" })).await.tool_text(), "x");
    let reply = client.request("tools/list", json!({})).await;
    let tools = reply.result()["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[99]["name"]), (100, &json!("many-tool-0099")));
}

#[tokio::test]
async fn schemas_reach_the_client_byte_for_byte() {
    let server = Server::builder().guest("schemas").start().await;
    let reply = Client::new(server.url()).request("tools/list", json!({})).await;
    for written in [
        r#"{"required":["z","a"],"properties":{"z":{"description":"last","type":"string"},"a":{"type":"integer"}},"type":"object"}"#,
        "{\n  \"type\" :\t\"object\" ,\r\n  \"properties\" : { \"n\" : { \"type\" : \"number\" , \"maximum\" : 1.50e2 } }\n}",
        r#"{"type":"object","properties":{"gr\u00fc\u00DFe":{"type":"string","description":"\u0041 \/ \ud83d\ude00 😀"}}}"#,
        r#"{"type":"object","x-extra":{"widget":"slider","steps":[1,2.0,3e0,null]},"properties":{},"$comment":"kept"}"#,
    ] {
        // A message is one line, so a line break between tokens is a space.
        let written = written.replace(['\r', '\n'], " ");
        assert!(
            reply.text.contains(&format!("\"inputSchema\":{written}")),
            "{written}\nis not in\n{}",
            reply.text
        );
    }
    // A stream frames by lines, so there each raw line break, which JSON allows only between tokens, is a space.
    let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")];
    headers.push(("accept", "text/event-stream"));
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": stateless_meta() } });
    let streamed = Client::new(server.url()).post(&headers, body.to_string()).await;
    assert_eq!(streamed.result(), reply.result());
}

#[tokio::test]
async fn definitions_and_patterns_are_enforced() {
    let server = Server::builder().guest("schemas").start().await;
    let client = Client::new(server.url());
    let reply =
        client.call("schemas-definitions", json!({ "head": { "name": "a", "next": { "name": 5 } } })).await;
    assert!(reply.tool_error().contains("/head/next/name: 5 is not of type \"string\""), "{reply:?}");
    let reply = client.call("schemas-pattern", json!({ "code": "ab-1" })).await;
    assert!(
        reply.tool_error().contains("/code: ") && reply.tool_error().contains("^[A-Z]{2}-[0-9]{3}$"),
        "{reply:?}"
    );
    let reply = client.call("schemas-pattern", json!({ "code": "AB-123" })).await;
    assert_eq!(reply.tool_text(), r#"{"code":"AB-123"}"#);
}

#[tokio::test]
async fn wrong_arguments_are_a_tool_error_that_names_the_pointer() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let reply = client.call("polite-add", json!({ "a": "two", "b": 1 })).await;
    assert!(reply.tool_error().contains("/a: \"two\" is not of type \"integer\""), "{reply:?}");
    let reply = client.call("polite-add", json!({ "a": 1 })).await;
    assert!(reply.tool_error().contains("/b: is required and missing"), "{reply:?}");
    let reply = client.call("polite-add", json!({ "a": 1, "b": 2, "c": 3 })).await;
    assert!(reply.tool_error().contains("/c: not a known property"), "{reply:?}");
}

#[tokio::test]
async fn results_carry_what_the_revision_can_express() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let old = client.session("2024-11-05").await;
    let reply = old.call("polite-add", json!({ "a": 2, "b": 40 })).await;
    assert!(
        reply.result().get("structuredContent").is_none() && reply.result().get("resultType").is_none(),
        "{reply:?}"
    );
    assert_eq!(serde_json::from_str::<Value>(reply.tool_text()).unwrap(), json!({ "sum": 42 }));
    let listed = old.request("tools/list", json!({})).await;
    for tool in listed.result()["tools"].as_array().unwrap() {
        assert!(tool.get("outputSchema").is_none() && tool.get("annotations").is_none(), "{tool}");
    }
    let kinds = |reply: &plugport_tests::http_client::HttpResponse| -> Vec<String> {
        let content = reply.result()["content"].as_array().unwrap();
        content.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        kinds(&old.call("polite-content", json!({})).await),
        ["text", "image", "text", "resource", "resource", "text"]
    );
    let new = client.call("polite-content", json!({})).await;
    assert_eq!(kinds(&new), ["text", "image", "audio", "resource", "resource", "resource_link"]);

    let reply = client.call("polite-add", json!({ "a": 2, "b": 40 })).await;
    assert_eq!(reply.result()["structuredContent"], json!({ "sum": 42 }));
    assert_eq!(reply.result()["resultType"], "complete");
    assert_eq!(reply.result()["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "plugport");
}

#[tokio::test]
async fn a_tools_own_error_is_told_with_its_causes() {
    let server = Server::builder().guest("polite").start().await;
    let reply = Client::new(server.url()).call("polite-fail", json!({ "reason": "no luck" })).await;
    let told = reply.tool_error();
    assert!(told.contains("no luck") && told.contains("caused by:"), "{told}");
}

#[tokio::test]
async fn progress_and_log_come_before_the_answer_on_its_own_stream() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let params =
        json!({ "name": "polite-narrate", "arguments": { "steps": 3 }, "_meta": { "progressToken": "t" } });
    let reply = session.request("tools/call", params.clone()).await;
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    let progress = reply.notifications("notifications/progress");
    assert_eq!(progress.len(), 3, "{reply:?}");
    assert!(progress.iter().all(|message| message["params"]["progressToken"] == "t"));
    let logs = reply.notifications("notifications/message");
    assert_eq!(logs.len(), 3, "{reply:?}");
    assert_eq!(logs[0]["params"]["logger"], "polite");
    assert!(reply.response()["result"].is_object());

    session.request("logging/setLevel", json!({ "level": "error" })).await.result();
    assert!(session.request("tools/call", params).await.notifications("notifications/message").is_empty());
    let reply = session.request("logging/setLevel", json!({ "level": "loud" })).await;
    assert_eq!(reply.error_code(), -32602);
}

#[tokio::test]
async fn a_stateless_caller_hears_only_what_it_asked_for() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let params = json!({ "name": "polite-narrate", "arguments": { "steps": 3 } });
    let reply = client.request("tools/call", params.clone()).await;
    assert_eq!(
        (reply.messages.len(), &reply.headers["content-type"]),
        (1, &"application/json".parse().unwrap())
    );
    let more = json!({ "progressToken": 7, "io.modelcontextprotocol/logLevel": "info" });
    let reply = client.request_with_meta("tools/call", params, more).await;
    assert_eq!(reply.notifications("notifications/progress").len(), 3, "{reply:?}");
    assert_eq!(reply.notifications("notifications/message").len(), 3, "{reply:?}");
}

#[tokio::test]
async fn a_guest_knows_its_client_and_nothing_of_the_transport() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let reply = client.session("2025-06-18").await.call("polite-whoami", json!({})).await;
    let told = reply.result()["structuredContent"].to_string();
    assert!(told.contains("suite") && told.contains("2025-06-18"), "{told}");
}
