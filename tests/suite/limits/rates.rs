//! Rates: calls, completions, failures, sampled tokens and log lines.

use std::time::{Duration, Instant};

use plugport_tests::http_client::{Client, Session};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{capabilities, model_says, prompt};

async fn flood(client: &Client, tool: &str, calls: usize) -> Vec<Value> {
    let calls: Vec<_> = (0..calls)
        .map(|_| {
            let (client, tool) = (client.clone(), tool.to_owned());
            tokio::spawn(async move { client.call(&tool, json!({ "message": "x" })).await.result().clone() })
        })
        .collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.unwrap());
    }
    results
}

fn rejected<'r>(results: &'r [Value], limit: &str) -> Vec<&'r Value> {
    results.iter().filter(|result| result["isError"] == true && result.to_string().contains(limit)).collect()
}

#[tokio::test]
async fn a_tool_that_is_called_too_often_says_so_and_its_neighbour_answers() {
    let audit = tempfile::NamedTempFile::new().unwrap();
    let config = format!(
        "[plugins.polite]\nlimits = {{ tool_calls_per_second = 5 }}\n[audit]\nfile = {:?}\n",
        audit.path()
    );
    let server = Server::builder().guest("polite").guest("version_a").config(&config).start().await;
    let client = Client::new(server.url());
    let results = flood(&client, "polite-echo", 40).await;
    let rejected = rejected(&results, "at most 5 times in a second (limit `tool_calls_per_second`)");
    assert!((20..=35).contains(&rejected.len()), "{} of 40 were refused", rejected.len());
    assert_eq!(client.call("version_a-version", json!({})).await.tool_text(), "a");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    assert!(server.log().matches("called too often").count() < 10, "a flood of calls is no flood of lines");
    drop(client);
    assert_eq!(server.terminate().await, Some(0));
    let text = std::fs::read_to_string(audit.path()).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.retain(|line| line["event"] == "call");
    let (limits, begun): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|line| line["limit"] == "tool_calls_per_second");
    assert_eq!(begun.len(), 44 - rejected.len(), "one line for each that began, and for each listing");
    let times: u64 = limits.iter().map(|line| line["count"].as_u64().unwrap_or(1)).sum();
    assert_eq!(
        (limits.len(), times),
        (2, rejected.len() as u64),
        "the first, and all others together: {limits:?}"
    );
    assert_eq!((&limits[0]["count"], &limits[0]["arguments"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn a_caller_has_a_rate_for_all_plugins_together() {
    let config = "[server]\ncaller_calls_per_second = 5\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let results = flood(&Client::new(server.url()), "polite-echo", 30).await;
    let rejected = rejected(
        &results,
        "at most 5 times in a second, all plugins together (limit [server] `caller_calls_per_second`)",
    );
    assert!((15..=25).contains(&rejected.len()), "{} of 30 were refused", rejected.len());
}

#[tokio::test]
async fn completions_have_a_rate() {
    let server = Server::builder().guest("library").start().await;
    let client = Client::new(server.url());
    let params = json!({ "ref": { "type": "ref/prompt", "name": "library-review" }, "argument": { "name": "topic", "value": "" } });
    let begun = Instant::now();
    let mut rejected = 0;
    for _ in 0..400 {
        let reply = client.request("completion/complete", params.clone()).await;
        rejected += u64::from(format!("{reply:?}").contains("at most 50 times in a second"));
    }
    // Fifty at once, and fifty more each second; one second more for a slow machine.
    let admitted = 50 * (begun.elapsed().as_secs() + 2);
    assert!(rejected >= 400_u64.saturating_sub(admitted), "{rejected} of 400 were rejected");
}

#[tokio::test]
async fn a_plugin_that_keeps_failing_is_quarantined() {
    let config = "[plugins.hostile_panic]\nlimits = { quarantine_failures = 3, quarantine_s = 2 }\n";
    let server = Server::builder().guest("hostile_panic").guest("polite").config(config).start().await;
    let client = Client::new(server.url());
    let boom = || client.call("hostile_panic-boom", json!({ "message": "x" }));
    for _ in 0..3 {
        assert!(boom().await.tool_error().contains("panicked"));
    }
    let begun = Instant::now();
    let told = client.call("hostile_panic-ok", json!({})).await;
    assert!(told.tool_error().contains("is quarantined because its calls keep failing"), "{told:?}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    let listed = client.request("tools/list", json!({})).await.result().to_string();
    assert!(listed.contains("hostile_panic-ok"), "its tools stay in the list");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert!(boom().await.tool_error().contains("panicked"), "the trial");
    let told = client.call("hostile_panic-ok", json!({})).await;
    assert!(told.tool_error().contains("quarantined"), "{told:?}");
    let lines = server.wait_for_audit("quarantine", 2).await;
    assert_eq!((&lines[0]["seconds"], &lines[1]["seconds"]), (&json!(2), &json!(4)));
    tokio::time::sleep(Duration::from_millis(4_100)).await;
    assert_eq!(client.call("hostile_panic-ok", json!({})).await.tool_text(), "ok");
    server.wait_for_log("is quarantined because its calls keep failing").await;
}

#[tokio::test]
async fn bad_arguments_of_one_caller_do_not_quarantine_a_plugin() {
    let config = "[plugins.hostile_panic]\nlimits = { quarantine_failures = 3 }\n";
    let server = Server::builder().guest("hostile_panic").config(config).start().await;
    let client = Client::new(server.url());
    for _ in 0..6 {
        client.call("hostile_panic-boom", json!({ "message": "x" })).await.tool_error();
        assert_eq!(client.call("hostile_panic-ok", json!({})).await.tool_text(), "ok");
    }
}

#[tokio::test]
async fn logs_of_many_calls_have_one_rate() {
    let config = "[plugins.polite]\nlimits = { log_kib = 8 }\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let client = Client::new(server.url());
    let more = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let mut heard = 0;
    for _ in 0..10 {
        let params = json!({ "name": "polite-narrate", "arguments": { "steps": 50 } });
        let reply = client.request_with_meta("tools/call", params, more.clone()).await;
        heard += reply.notifications("notifications/message").len();
    }
    assert!((50..300).contains(&heard), "{heard} of 500 messages from 8 KiB and 2 KiB a second");
    server.wait_for_log("log output was dropped (limit `log_kib`)").await;
}

fn ask(tokens: u64) -> Value {
    let mut params = prompt();
    params["maxTokens"] = json!(tokens);
    json!({ "name": "ask", "arguments": { "method": "sampling/createMessage", "params": params } })
}

/// Asks the client's model for at most so many tokens, and asserts that the model's text comes back.
pub(crate) async fn assert_sampled(session: &Session, id: u64, tokens: u64) {
    let mut stream = session.stream(json!(id), "tools/call", ask(tokens)).await;
    let client_request = stream.message().await;
    session.respond(&client_request, model_says("sure")).await;
    let response = stream.message().await;
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("sure"), "{response}");
}

/// The reason why the client gets no request.
pub(crate) async fn rejected_for(session: &Session, tokens: u64) -> String {
    session.request("tools/call", ask(tokens)).await.tool_text().to_owned()
}

#[tokio::test]
async fn sampling_has_a_budget_for_a_call_and_for_an_hour() {
    let config = "[plugins.client_requests]\nprefix = \"\"\nlimits = { sampling_tokens = 600 }\n\
                  [plugins.client_requests.grants]\nsampling = { calls_per_hour = 3, tokens_per_hour = 1200 }\n";
    let server = Server::builder().guest("client_requests").config(config).start().await;
    let session = Client::new(server.url()).session_with("2025-11-25", capabilities()).await;
    assert!(rejected_for(&session, 700).await.contains("limit `sampling_tokens`"));
    assert_sampled(&session, 2, 500).await;
    assert_sampled(&session, 3, 500).await;
    let why = rejected_for(&session, 500).await;
    assert!(why.contains("1200 an hour (grant `sampling.tokens_per_hour`)"), "{why}");
    assert_sampled(&session, 5, 10).await;
    let why = rejected_for(&session, 10).await;
    assert!(why.contains("3 sampling requests an hour (grant `sampling.calls_per_hour`)"), "{why}");
    let noted = server.wait_for_audit("limit", 3).await;
    assert!(
        noted.iter().all(|line| line["plugin"] == "client_requests"
            && line["reason"].as_str().unwrap().contains("sampling")),
        "{noted:?}"
    );
    server.wait_for_log("hit a limit: the plugin may send at most 3 sampling requests an hour").await;
}
