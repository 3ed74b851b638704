//! Tasks of 2025-11-25 beyond one session: a task outlives its session, and what it asks is asked in that session only,
//! on each stream that waits for the result.

use plugport_tests::http_client::{Client, Session};
use plugport_tests::server::Server;
use serde_json::{Value, json};

const CONFIG: &str =
    "[plugins.conformance]\nprefix = \"\"\n[plugins.conformance.grants]\nelicitation = true\n";

async fn server() -> Server {
    Server::builder().guest("conformance").config(CONFIG).start().await
}

async fn session(server: &Server) -> Session {
    Client::new(server.url()).session_with("2025-11-25", json!({ "elicitation": {} })).await
}

/// Calls a tool with the request id `call` and returns the id of its task.
async fn start(session: &Session, tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments, "task": {} });
    let created = session.request_as(json!("call"), "tools/call", params).await;
    created.result()["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_outlives_its_session_and_its_request() {
    let server = server().await;
    let (first, second) = (session(&server).await, session(&server).await);
    let id = start(&first, "slow_compute", json!({ "seconds": 3, "label": "a" })).await;
    // The call was answered with the task, so there is no request any more that this could cancel.
    first.notify("notifications/cancelled", json!({ "requestId": "call" })).await;
    assert_eq!(Client::new(server.url()).delete(&first.id).await, 204);
    let task = second.request("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(task.result()["status"], "working", "{task:?}");
    let done = second.request("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(done.tool_text(), "a: computed for 3 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_asks_on_each_stream_of_its_session_and_on_no_other() {
    let server = server().await;
    let (own, other) = (session(&server).await, session(&server).await);
    let id = start(&own, "confirm_delete", json!({ "filename": "x" })).await;
    let result = json!({ "taskId": id });
    let mut foreign = other.stream(json!("r"), "tasks/result", result.clone()).await;
    let mut broken = own.stream(json!("r1"), "tasks/result", result.clone()).await;
    let asked = broken.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    drop(broken);
    let mut stream = own.stream(json!("r2"), "tasks/result", result.clone()).await;
    assert_eq!(stream.message().await, asked);
    // In the other session the id of the question means nothing.
    other.respond(&asked, json!({ "action": "accept", "content": { "confirm": false } })).await;
    own.respond(&asked, json!({ "action": "accept", "content": { "confirm": true } })).await;
    for stream in [&mut stream, &mut foreign] {
        let done = stream.message().await;
        assert_eq!(done["result"]["content"][0]["text"], "x is deleted", "{done}");
    }
    let late = own.request("tasks/result", result).await;
    assert_eq!(late.tool_text(), "x is deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_session_a_task_is_not_asked_for_long() {
    let server = server().await;
    let (first, second) = (session(&server).await, session(&server).await);
    let id = start(&first, "confirm_delete", json!({ "filename": "x" })).await;
    let mut stream = first.stream(json!("r"), "tasks/result", json!({ "taskId": id })).await;
    assert_eq!(stream.message().await["method"], "elicitation/create");
    assert_eq!(Client::new(server.url()).delete(&first.id).await, 204);
    let done = second.request("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(done.result()["isError"], true, "{done:?}");
}
