//! The other example plugins, called through the server.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

use crate::mcp::session_client_requests::{capabilities, model_says};

#[tokio::test]
async fn hello_clock_and_calc_answer() {
    let server = Server::builder().plugin("hello").plugin("clock").plugin("calc").start().await;
    let client = Client::new(server.url());
    assert!(client.call("hello-hello", json!({ "name": "Ada" })).await.tool_text().contains("Ada"));

    let now = client.call("clock-now", json!({ "zone": "Asia/Tokyo" })).await;
    assert!(now.result()["structuredContent"].to_string().contains("Asia/Tokyo"), "{now:?}");
    let wrong = client.call("clock-now", json!({ "zone": "Tokyo" })).await;
    assert!(wrong.tool_error().contains("Asia/Tokyo"), "{wrong:?}");

    let sum = client.call("calc-evaluate", json!({ "expression": "0.1 + 0.2" })).await;
    assert!(sum.tool_text().contains("0.3") && !sum.tool_text().contains("0.30000"), "{sum:?}");
    let length = client.call("calc-convert", json!({ "value": "5 km", "to": "m" })).await;
    assert!(length.tool_text().contains("5000"), "{length:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn summarize_asks_the_model_of_a_client_with_a_session() {
    let config = "[plugins.summarize.grants]\nsampling = true\n";
    let server = Server::builder().plugin("summarize").config(config).start().await;
    let session = Client::new(server.url()).session_with("2025-06-18", capabilities()).await;
    let text = "A sentence of a long story. ".repeat(1_200);
    let call = json!({ "name": "summarize-summarize", "arguments": { "text": text },
                       "_meta": { "progressToken": "p" } });
    let mut stream = session.stream(json!(1), "tools/call", call).await;
    let (mut client_requests, mut progress) = (0, 0);
    let response = loop {
        let message = stream.message().await;
        match message["method"].as_str() {
            Some("sampling/createMessage") => {
                client_requests += 1;
                session.respond(&message, model_says(&format!("part {client_requests}"))).await;
            }
            Some("notifications/progress") => progress += 1,
            _ => break message,
        }
    };
    assert_eq!(response["result"]["content"][0]["text"], format!("part {client_requests}"), "{response}");
    assert!(
        client_requests >= 4 && progress == client_requests,
        "{client_requests} client requests, {progress} reports"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wizard_asks_a_person_through_a_client_without_sessions() {
    let config = "[plugins.wizard.grants]\nelicitation = true\n";
    let server = Server::builder().plugin("wizard").config(config).start().await;
    let client = Client::new(server.url());
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let mut params = json!({ "name": "wizard-plan_event", "arguments": { "title": "Launch" } });
    for (key, content) in [
        ("basics", json!({ "kind": "talk", "date": "2027-03-01", "guests": 40 })),
        ("details", json!({ "speaker": "Ada" })),
        ("confirmation", json!({ "right": true })),
    ] {
        let suspended = client.request_with_meta("tools/call", params.clone(), meta.clone()).await;
        assert!(suspended.result()["inputRequests"][key].is_object(), "{suspended:?}");
        params["requestState"] = suspended.result()["requestState"].clone();
        params["inputResponses"] = json!({ key: { "action": "accept", "content": content } });
    }
    let done = client.request_with_meta("tools/call", params, meta).await;
    assert_eq!(done.result()["structuredContent"]["details"]["speaker"], "Ada", "{done:?}");
}
