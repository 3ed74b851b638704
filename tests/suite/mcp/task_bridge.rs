//! The bridge to tasks: a slow call of a client that knows no tasks ends with an id, and a tool waits for the result.

use std::time::{Duration, Instant};

use plugport_tests::guests::folder;
use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::raw_server::RawServer;
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::tasks::TaskClient;
use crate::access::{ADA, BOB, as_caller, both};

const BRIDGED: &str = "[server]\ntask_bridge = true\n[limits]\ntask_after_ms = 200\n";
const RESULT: &str = "polite-task_result";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

async fn polite(config: &str) -> Server {
    Server::builder().guest("polite").config(config).start().await
}

/// A server whose tools ask.
async fn asking() -> Server {
    let config = format!(
        "{BRIDGED}[plugins.conformance]\nprefix = \"\"\n[plugins.conformance.grants]\nelicitation = true\n"
    );
    Server::builder().guest("conformance").config(&config).start().await
}

/// The id in the result of a call that still runs.
pub(crate) fn task_id(answered: &HttpResponse) -> String {
    assert!(answered.result().get("isError").is_none(), "{answered:?}");
    assert!(answered.result().get("structuredContent").is_none(), "{answered:?}");
    let text = answered.tool_text();
    assert!(text.contains("still runs"), "{text}");
    text.split_once(r#"{"taskId":""#).unwrap().1.split_once('"').unwrap().0.to_owned()
}

async fn names(client: &Client) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_tasks_gets_the_result_of_a_slow_call_with_a_second_tool() {
    let server = polite(BRIDGED).await;
    let client = Client::new(server.url());
    let quick = client.call("polite-nap", json!({ "ms": 0 })).await;
    let begun = Instant::now();
    let id = task_id(&client.call("polite-nap", json!({ "ms": 2_500 })).await);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    for _ in 0..2 {
        let done = client.call(RESULT, json!({ "taskId": id })).await;
        assert_eq!(done.result(), quick.result(), "as the call would have been answered");
    }
    assert!(begun.elapsed() >= Duration::from_millis(2_500), "{:?}", begun.elapsed());
    let unfit = client.call(RESULT, json!({ "taskId": id, "more": 1 })).await;
    assert!(unfit.tool_error().contains("schema"), "{unfit:?}");
    // To a client that knows tasks it is none.
    let knowing = TaskClient::new(Client::new(server.url()));
    assert_eq!(knowing.request("tasks/get", json!({ "taskId": id })).await.error_code(), -32602);
    let own = knowing.start("polite-nap", json!({ "ms": 400 })).await;
    assert!(client.call(RESULT, json!({ "taskId": own })).await.tool_error().contains("there is no task"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_each_revision_is_bridged_too() {
    let server = polite(BRIDGED).await;
    for revision in SESSIONS {
        let session = Client::new(server.url()).session(revision).await;
        let id = task_id(&session.call("polite-nap", json!({ "ms": 700 })).await);
        assert_eq!(session.call(RESULT, json!({ "taskId": id })).await.tool_text(), "rested", "{revision}");
        // The result is written in the revision of the call.
        let other = Client::new(server.url()).call(RESULT, json!({ "taskId": id })).await;
        assert!(other.tool_error().contains("there is no task"), "{other:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridged_call_outlives_its_session() {
    let server = polite(BRIDGED).await;
    let client = Client::new(server.url());
    let session = client.session("2025-06-18").await;
    let id = task_id(&session.call("polite-nap", json!({ "ms": 1_500 })).await);
    assert_eq!(client.delete(&session.id).await, 204);
    let other = client.session("2025-06-18").await;
    assert_eq!(other.call(RESULT, json!({ "taskId": id })).await.tool_text(), "rested");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_tool_is_for_models_only() {
    let server = polite(BRIDGED).await;
    let listed = Client::new(server.url()).request("tools/list", json!({})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == RESULT).unwrap();
    assert_eq!(tool["_meta"], json!({ "ui": { "visibility": ["model"] } }), "{tool}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_there_is_no_second_tool_and_calls_are_waited_for() {
    let plain = polite("[limits]\ntask_after_ms = 200\n").await;
    let client = Client::new(plain.url());
    assert!(!names(&client).await.contains(&RESULT.to_owned()));
    assert_eq!(client.call("polite-nap", json!({ "ms": 500 })).await.tool_text(), "rested");
    let unknown = client.call(RESULT, json!({ "taskId": "x" })).await;
    assert_eq!(unknown.error_code(), -32602, "{unknown:?}");
    drop(plain);
    let config = format!("{BRIDGED}[plugins.polite]\ntask_bridge = false\n");
    let server = Server::builder().guest("polite").guest("conformance").config(&config).start().await;
    let names = names(&Client::new(server.url())).await;
    assert!(names.contains(&"conformance-task_result".to_owned()) && !names.contains(&RESULT.to_owned()));
    let waited = Client::new(server.url()).call("polite-nap", json!({ "ms": 500 })).await;
    assert_eq!(waited.tool_text(), "rested");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridged_call_of_another_principal_is_none() {
    let server = polite(&format!("{BRIDGED}{}", both())).await;
    let own = as_caller(&server, ADA);
    let id = task_id(&own.call("polite-nap", json!({ "ms": 1_500 })).await);
    let thief = as_caller(&server, BOB);
    for _ in 0..2 {
        let seen = async |id: &str, cancel: bool| {
            let answer = thief.call(RESULT, json!({ "taskId": id, "cancel": cancel })).await;
            let headers = answer.headers.iter().filter(|(name, _)| *name != "date");
            let headers: Vec<_> = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
            (answer.status, answer.text, headers)
        };
        for cancel in [false, true] {
            assert_eq!(seen(&id, cancel).await, seen(&"A".repeat(43), cancel).await);
        }
        // Once more when the call has ended.
        assert_eq!(own.call(RESULT, json!({ "taskId": id })).await.tool_text(), "rested");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_does_not_see_the_second_tool_waits_for_its_calls() {
    let roles = "[roles.all]\nwho = [\"token:ada\"]\nallow = [\"*\"]\n\
                 [roles.some]\nwho = [\"token:bob\"]\nallow = [\"polite-nap\"]\n";
    let server = polite(&format!("{BRIDGED}{}{roles}", both())).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    task_id(&ada.call("polite-nap", json!({ "ms": 600 })).await);
    assert_eq!(names(&bob).await, ["polite-nap"]);
    assert_eq!(bob.call("polite-nap", json!({ "ms": 600 })).await.tool_text(), "rested");
    assert_eq!(bob.call(RESULT, json!({ "taskId": "x" })).await.error_code(), -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_tool_cancels_and_the_audit_has_a_line_for_each_call() {
    let server = polite(BRIDGED).await;
    let client = Client::new(server.url());
    let id = task_id(&client.call("polite-nap", json!({ "ms": 20_000 })).await);
    let begun = Instant::now();
    let cancelled = client.call(RESULT, json!({ "taskId": id, "cancel": true })).await;
    assert!(cancelled.tool_text().contains("was cancelled"), "{cancelled:?}");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let later = client.call(RESULT, json!({ "taskId": id })).await;
    assert!(later.tool_error().contains("was cancelled"), "{later:?}");
    let lines = server.wait_for_audit_lines(|line| line["function"] == "tools/call", 3).await;
    let of = |name: &str| lines.iter().filter(|line| line["name"] == name).collect::<Vec<_>>();
    assert_eq!(of("nap").iter().map(|line| &line["outcome"]).collect::<Vec<_>>(), ["cancelled"], "{lines:?}");
    let fetched = of("task_result");
    assert!(fetched.len() == 2 && fetched.iter().all(|line| line["outcome"] == "ok"), "{lines:?}");
    assert_eq!(fetched[0]["fuel"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_tool_has_the_rate_of_a_tool() {
    let server = polite(&format!("{BRIDGED}tool_calls_per_second = 3\n")).await;
    let client = Client::new(server.url());
    let mut rejected = false;
    for _ in 0..8 {
        rejected |=
            client.call(RESULT, json!({ "taskId": "x" })).await.text.contains("tool_calls_per_second");
    }
    assert!(rejected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_bridged_call_asks_is_asked_of_the_call_that_waits() {
    let server = asking().await;
    let client = Client::new(server.url());
    let call = async |tool: &str, arguments: Value, more: Value| {
        let mut params = json!({ "name": tool, "arguments": arguments });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request_with_meta("tools/call", params, json!({ CAPABILITIES: { "elicitation": {} } })).await
    };
    let id = task_id(&call("multi_input", json!({}), json!({})).await);
    let wait = async |responses: Value| call("task_result", json!({ "taskId": id }), responses).await;
    let asked = wait(json!({})).await;
    assert_eq!(asked.result()["resultType"], "input_required", "{asked:?}");
    assert_eq!(asked.result()["inputRequests"]["first"]["method"], "elicitation/create", "{asked:?}");
    let answer = |key: &str, content: Value| json!({ "inputResponses": { key: { "action": "accept", "content": content } } });
    assert_eq!(wait(answer("first", json!({ "name": 5 }))).await.error_code(), -32602);
    let left = wait(answer("first", json!({ "name": "Ada" }))).await;
    let left = &left.result()["inputRequests"];
    assert!(left.get("first").is_none() && left["second"].is_object(), "{left}");
    assert_eq!(wait(answer("second", json!({ "name": "Bob" }))).await.tool_text(), "Ada and Bob");
    // What is asked before the call is a task is asked of the call.
    let asked = call("test_tool_with_task", json!({}), json!({})).await;
    let mut answer = answer("user_name", json!({ "name": "Ada" }));
    answer["requestState"] = asked.result()["requestState"].clone();
    let id = task_id(&call("test_tool_with_task", json!({}), answer).await);
    let done = call("task_result", json!({ "taskId": id }), json!({})).await;
    assert_eq!(done.tool_text(), "Hello, Ada!");
    // A call that asks is cancelled as any other.
    let id = task_id(&call("multi_input", json!({}), json!({})).await);
    let cancelled = call("task_result", json!({ "taskId": id, "cancel": true }), json!({})).await;
    assert!(cancelled.tool_text().contains("was cancelled"), "{cancelled:?}");
    // A client that cannot be asked is none to the guest either.
    let id = task_id(&client.call("confirm_delete", json!({ "filename": "x" })).await);
    let failed = client.call("task_result", json!({ "taskId": id })).await;
    assert_eq!(failed.error_code(), -32021, "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_bridged_call_of_a_session_asks_comes_on_the_stream_of_the_call_that_waits() {
    let server = asking().await;
    let session = Client::new(server.url()).session_with("2025-06-18", json!({ "elicitation": {} })).await;
    let id = task_id(&session.call("confirm_delete", json!({ "filename": "x" })).await);
    let params = json!({ "name": "task_result", "arguments": { "taskId": id } });
    let mut stream = session.stream(json!("r"), "tools/call", params).await;
    let asked = stream.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert!(!asked.to_string().contains("related-task"), "{asked}");
    session.respond(&asked, json!({ "action": "accept", "content": { "confirm": true } })).await;
    let done = stream.message().await;
    assert_eq!(done["result"]["content"][0]["text"], "x is deleted", "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_session_stays_a_call_while_its_client_answers() {
    let server = asking().await;
    let session = Client::new(server.url()).session_with("2025-06-18", json!({ "elicitation": {} })).await;
    let params = json!({ "name": "test_elicitation", "arguments": { "message": "Who?" } });
    let mut stream = session.stream(json!("r"), "tools/call", params).await;
    let asked = stream.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answered = tokio::time::timeout(Duration::from_millis(800), stream.message()).await;
    assert!(answered.is_err(), "{answered:?}");
    let content = json!({ "username": "ada", "email": "ada@example.com" });
    session.respond(&asked, json!({ "action": "accept", "content": content })).await;
    assert!(stream.message().await["result"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_only_runs_as_a_task_is_bridged_and_its_failure_stays_one() {
    let server = asking().await;
    for revision in SESSIONS {
        let session = Client::new(server.url()).session(revision).await;
        let id = task_id(&session.call("failing_job", json!({})).await);
        let failed = session.call("task_result", json!({ "taskId": id })).await;
        assert!(failed.tool_error().contains("fails for testing"), "{failed:?}");
        let id = task_id(&session.call("protocol_error_job", json!({})).await);
        assert_eq!(session.call("task_result", json!({ "taskId": id })).await.error_code(), -32603);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_with_an_output_schema_is_waited_for() {
    // A call of a plugin without the bridge has the only permit for longer than the grace.
    let config = format!("{BRIDGED}[plugins.conformance]\ntask_bridge = false\n")
        .replace("task_bridge = true", "task_bridge = true\nconcurrent_calls = 1");
    let server = Server::builder().guest("polite").guest("conformance").config(&config).start().await;
    let (client, other) = (Client::new(server.url()), Client::new(server.url()));
    let sum = client.call("polite-add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(sum.result()["structuredContent"]["sum"], 3, "{sum:?}");
    let permit = other.call("conformance-slow_compute", json!({ "seconds": 2, "label": "a" }));
    let late = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let begun = Instant::now();
        (client.call("polite-add", json!({ "a": 1, "b": 2 })).await, begun.elapsed())
    };
    let (_, (sum, took)) = tokio::join!(permit, late);
    assert_eq!(sum.result()["structuredContent"]["sum"], 3, "{sum:?}");
    assert!(took > Duration::from_millis(500), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_of_a_session_asks_nothing() {
    let server = asking().await;
    let session = Client::new(server.url()).session_with("2025-06-18", json!({ "elicitation": {} })).await;
    let id = task_id(&session.call("confirm_delete", json!({ "filename": "x" })).await);
    // Until the guest has asked.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let params = json!({ "name": "task_result", "arguments": { "taskId": id, "cancel": true } });
    let first = session.stream(json!("r"), "tools/call", params).await.message().await;
    assert!(first["result"]["content"][0]["text"].as_str().unwrap().contains("was cancelled"), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_hears_that_a_request_of_a_bridged_call_is_cancelled() {
    let server = asking().await;
    let session = Client::new(server.url()).session_with("2025-06-18", json!({ "elicitation": {} })).await;
    let id = task_id(&session.call("confirm_delete", json!({ "filename": "x" })).await);
    let params = json!({ "name": "task_result", "arguments": { "taskId": id } });
    let mut stream = session.stream(json!("r"), "tools/call", params).await;
    let asked = stream.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let cancelled = session.call("task_result", json!({ "taskId": id, "cancel": true })).await;
    assert!(cancelled.tool_text().contains("was cancelled"), "{cancelled:?}");
    let withdrawn = stream.message().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert!(stream.message().await["result"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_answering_is_waited_for() {
    let server = asking().await;
    let session = Client::new(server.url()).session_with("2025-06-18", json!({ "elicitation": {} })).await;
    let id = task_id(&session.call("confirm_delete", json!({ "filename": "x" })).await);
    let params = json!({ "name": "task_result", "arguments": { "taskId": id } });
    let mut stream = session.stream(json!("r"), "tools/call", params).await;
    let asked = stream.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let early = tokio::time::timeout(Duration::from_secs(33), stream.message()).await;
    assert!(early.is_err(), "{early:?}");
    session.respond(&asked, json!({ "action": "accept", "content": { "confirm": true } })).await;
    let done = stream.message().await;
    assert_eq!(done["result"]["content"][0]["text"], "x is deleted", "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_tool_waits_for_less_than_a_minute_and_says_how_far_the_call_is() {
    let server = asking().await;
    let client = Client::new(server.url());
    let id = task_id(&client.call("slow_compute", json!({ "seconds": 40, "label": "a" })).await);
    let begun = Instant::now();
    let waited = client.call("task_result", json!({ "taskId": id })).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(29) && took < Duration::from_secs(40), "{took:?}");
    assert_eq!(task_id(&waited), id);
    assert!(waited.tool_text().contains("Its last message: computing"), "{waited:?}");
    assert!(client.call("task_result", json!({ "taskId": id, "cancel": true })).await.status == 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_of_a_bridged_call_survives_a_killed_server() {
    let folder = folder(&["polite"]);
    let mut server = RawServer::start(folder.path(), BRIDGED);
    let client = Client::new(server.url().await);
    let done = task_id(&client.call("polite-nap", json!({ "ms": 400 })).await);
    let before = client.call(RESULT, json!({ "taskId": done })).await;
    assert_eq!(before.tool_text(), "rested");
    let running = task_id(&client.call("polite-nap", json!({ "ms": 20_000 })).await);
    server.child.kill().await.unwrap();
    let server = RawServer::start(folder.path(), BRIDGED);
    let client = Client::new(server.url().await);
    assert_eq!(client.call(RESULT, json!({ "taskId": done })).await.text, before.text);
    assert_eq!(client.call(RESULT, json!({ "taskId": running })).await.error_code(), -32603);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_the_call_uses_up_does_not_hide_its_result() {
    let roles = "[roles.all]\nwho = [\"token:ada\"]\nallow = [\"*\"]\nquota = { concurrent = 1 }\n";
    let server = polite(&format!("{BRIDGED}{}{roles}", both())).await;
    let ada = as_caller(&server, ADA);
    let id = task_id(&ada.call("polite-nap", json!({ "ms": 1_500 })).await);
    let over = ada.call("polite-echo", json!({ "message": "x" })).await;
    assert_eq!(over.status, 429, "{over:?}");
    assert_eq!(ada.call(RESULT, json!({ "taskId": id })).await.tool_text(), "rested");
}
