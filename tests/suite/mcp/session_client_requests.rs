//! A guest's client requests in a session: each is sent on the stream of the request that the guest serves.

use std::time::{Duration, Instant};

use plugport_tests::http_client::{Client, Session};
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// The guest `client_requests` with all its grants.
pub(crate) const GRANTED: &str = "[plugins.client_requests]\nprefix = \"\"\n[plugins.client_requests.grants]\nsampling = true\nelicitation = true\nroots = true\n";

/// The capabilities of a client that supports every client request.
pub(crate) fn capabilities() -> Value {
    json!({ "sampling": { "tools": {} }, "elicitation": { "form": {}, "url": {} }, "roots": {} })
}

pub(crate) async fn client_requests_server(more: &str) -> Server {
    Server::builder().guest("client_requests").config(&format!("{GRANTED}{more}")).start().await
}

pub(crate) fn form() -> Value {
    json!({ "message": "Who?", "requestedSchema":
        { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } })
}

pub(crate) fn prompt() -> Value {
    json!({ "maxTokens": 9, "messages": [{ "role": "user", "content": { "type": "text", "text": "q" } }] })
}

pub(crate) fn model_says(text: &str) -> Value {
    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": text } })
}

fn ask(method: &str, params: Value) -> Value {
    json!({ "name": "ask", "arguments": { "method": method, "params": params } })
}

async fn session(server: &Server, revision: &str) -> Session {
    Client::new(server.url()).session_with(revision, capabilities()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_revision_with_sessions_is_asked_on_the_stream_of_the_request() {
    let server = client_requests_server("").await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = session(&server, revision).await;
        let mut stream =
            session.stream(json!(7), "tools/call", ask("sampling/createMessage", prompt())).await;
        let client_request = stream.message().await;
        assert_eq!(client_request["method"], "sampling/createMessage", "{client_request}");
        assert_eq!(client_request["params"]["maxTokens"], 9);
        session.respond(&client_request, model_says("forty-two")).await;
        let response = stream.message().await;
        let text = response["result"]["content"][0]["text"].as_str().unwrap();
        assert!(response["id"] == 7 && text.contains("forty-two"), "{response}");
        assert_eq!(stream.event().await, None, "the stream ends with the answer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_client_requests_go_out_together_and_each_gets_its_own_response() {
    let server = client_requests_server("").await;
    let session = session(&server, "2025-11-25").await;
    let requests = json!([
        { "key": "model", "method": "sampling/createMessage", "params": prompt() },
        { "key": "person", "method": "elicitation/create", "params": form() },
        { "key": "folders", "method": "roots/list" },
    ]);
    let call = json!({ "name": "batch", "arguments": { "requests": requests } });
    let mut stream = session.stream(json!(1), "tools/call", call).await;
    let requests = [stream.message().await, stream.message().await, stream.message().await];
    for client_request in requests.iter().rev() {
        let response = match client_request["method"].as_str().unwrap() {
            "sampling/createMessage" => model_says("hi"),
            "elicitation/create" => json!({ "action": "accept", "content": { "name": "Ada" } }),
            _ => json!({ "roots": [{ "uri": "file:///work", "name": "Work" }] }),
        };
        session.respond(client_request, response).await;
    }
    let response = stream.message().await;
    let text = response["result"]["content"][0]["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("model: ") && lines[0].contains("hi"), "{text}");
    assert!(lines[1].starts_with("person: ") && lines[1].contains("Ada"), "{text}");
    assert!(lines[2].starts_with("folders: ") && lines[2].contains("file:///work"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_client_cannot_do_or_refuses_is_a_typed_failure_in_the_guest() {
    let server = client_requests_server("").await;
    let unable = Client::new(server.url()).session("2025-11-25").await;
    let text = |reply: plugport_tests::http_client::HttpResponse| reply.tool_text().to_owned();
    for (method, params, capability) in [
        ("sampling/createMessage", prompt(), "sampling"),
        ("elicitation/create", form(), "elicitation"),
        ("roots/list", json!({}), "roots"),
    ] {
        let reply = unable.request("tools/call", ask(method, params)).await;
        assert!(text(reply).contains(&format!("MissingCapability(\"{capability}\")")));
    }
    let old = session(&server, "2025-03-26").await;
    let reply = old.request("tools/call", ask("elicitation/create", form())).await;
    assert!(text(reply).contains("MissingCapability(\"elicitation\")"));

    let capabilities = session(&server, "2025-11-25").await;
    let mut stream =
        capabilities.stream(json!(1), "tools/call", ask("sampling/createMessage", prompt())).await;
    let client_request = stream.message().await;
    let error = json!({ "code": -1, "message": "User rejected sampling request" });
    capabilities.post(json!({ "jsonrpc": "2.0", "id": client_request["id"], "error": error })).await;
    assert!(stream.message().await.to_string().contains("Rejected(\\\"User rejected"));

    let mut stream = capabilities.stream(json!(1), "tools/call", ask("elicitation/create", form())).await;
    let client_request = stream.message().await;
    capabilities.respond(&client_request, json!({ "action": "accept", "content": { "name": 5 } })).await;
    let told = stream.message().await.to_string();
    assert!(told.contains("cannot be used: the field `name` does not fit the form"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_without_a_grant_and_malformed_client_requests_are_never_sent() {
    let server = Server::builder().guest("client_requests").start().await;
    let session = session(&server, "2025-11-25").await;
    let params = json!({ "method": "sampling/createMessage", "params": prompt() });
    let reply = session.call("client_requests-ask", params).await;
    assert!(reply.tool_text().contains("Denied"), "{reply:?}");
    drop(server);

    let server = client_requests_server("[plugins.client_requests.limits]\nclient_requests = 1\n").await;
    let session = self::session(&server, "2025-11-25").await;
    for (params, told) in [
        (json!({ "messages": [] }), "InvalidParams"),
        (json!({ "messages": "x".repeat(300_000) }), "at most 256 KiB"),
    ] {
        let reply = session.request("tools/call", ask("sampling/createMessage", params)).await;
        assert!(reply.tool_text().contains(told), "{reply:?}");
    }
    let twice = json!({ "name": "twice", "arguments": { "method": "roots/list" } });
    let mut stream = session.stream(json!(1), "tools/call", twice).await;
    let client_request = stream.message().await;
    session.respond(&client_request, json!({ "roots": [] })).await;
    assert!(stream.message().await.to_string().contains("limit `client_requests`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_call_delays_nobody_and_its_clock_stands_still() {
    let server =
        client_requests_server("[plugins.client_requests.limits]\nconcurrent_calls = 1\nwall_ms = 400\n")
            .await;
    let session = session(&server, "2025-11-25").await;
    let mut stream = session.stream(json!("waits"), "tools/call", ask("roots/list", json!({}))).await;
    let client_request = stream.message().await;
    let begun = Instant::now();
    assert!(session.call("client", json!({})).await.tool_text().contains("sampling: true"));
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_millis(600)).await;
    session.respond(&client_request, json!({ "roots": [{ "uri": "file:///a" }] })).await;
    assert!(stream.message().await.to_string().contains("file:///a"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_cancels_its_client_request() {
    let server = client_requests_server("").await;
    let session = session(&server, "2025-11-25").await;
    let mut stream = session.stream(json!("c"), "tools/call", ask("roots/list", json!({}))).await;
    let client_request = stream.message().await;
    session.notify("notifications/cancelled", json!({ "requestId": "c" })).await;
    let taken_back = stream.message().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], client_request["id"]);
    assert_eq!(stream.event().await, None, "a withdrawn request has no answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_calls_are_bounded_in_number_and_in_time() {
    let limits = "[plugins.client_requests.limits]\nsuspended_calls = 1\n[server]\nsuspended_call_s = 1\n";
    let server = client_requests_server(limits).await;
    let session = session(&server, "2025-11-25").await;
    let mut first = session.stream(json!(1), "tools/call", ask("roots/list", json!({}))).await;
    first.message().await;
    let mut second = session.stream(json!(2), "tools/call", ask("roots/list", json!({}))).await;
    second.message().await;
    let mut evicted = first.message().await;
    if evicted["method"] == "notifications/cancelled" {
        evicted = first.message().await;
    }
    assert!(evicted.to_string().contains("suspended_calls"), "{evicted}");
    let mut late = second.message().await;
    if late["method"] == "notifications/cancelled" {
        late = second.message().await;
    }
    assert!(late.to_string().contains("TimedOut"), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_client_requests_is_rejected_before_it_costs_anyone_time() {
    let server = Server::builder().guest("client_requests").start().await;
    let session = session(&server, "2025-11-25").await;
    let requests: Vec<Value> =
        (0..20_000).map(|key| json!({ "key": key.to_string(), "method": "roots/list" })).collect();
    let begun = Instant::now();
    let reply = session.call("client_requests-batch", json!({ "requests": requests })).await;
    assert!(reply.tool_error().contains("limit `client_requests`"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_choices_is_asked_of_older_clients_as_switches() {
    let server = client_requests_server("").await;
    let session = session(&server, "2025-06-18").await;
    let items = json!({ "enum": ["vegan", "nut-free"] });
    let fields = json!({ "diets": { "type": "array", "items": items } });
    let form = json!({ "message": "What?", "requestedSchema": { "type": "object", "properties": fields } });
    let mut stream = session.stream(json!(1), "tools/call", ask("elicitation/create", form)).await;
    let client_request = stream.message().await;
    let field_type = &client_request["params"]["requestedSchema"]["properties"]["diets: vegan"]["type"];
    assert_eq!(field_type, "boolean", "{client_request}");
    let content = json!({ "diets: vegan": true, "diets: nut-free": false });
    session.respond(&client_request, json!({ "action": "accept", "content": content })).await;
    let told = stream.message().await.to_string();
    assert!(told.contains(r#"\"diets\":[\"vegan\"]"#), "{told}");
}
