//! Clients that make tasks, listen to tasks and answer tasks without end: a neighbour is served all the while, and
//! memory, disk and open files are bounded. Ids of tasks are in `task_ids`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use plugport_tests::containment::AttackedServer;
use plugport_tests::http_client::{Client, HttpResponse, STATELESS, stateless_meta};
use plugport_tests::raw_post::{post_head, send};
use plugport_tests::server::Server;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::mcp::tasks::TaskClient;

const MIB: u64 = 1 << 20;

/// Nearly the largest body, or result, that is accepted.
const LARGE: usize = 3_900_000;

/// A small budget, so that a test need not send much.
const SMALL_BUDGET: &str = "[server]\nclient_buffers_mib = 32\n\
                            [plugins.hostile_tasks]\ngrants = { elicitation = true }\n";

/// The maximum growth with it: pages of the allocator, the memory of instances, and of a request while it is read.
const MAX_MEMORY: u64 = 144 * MIB;

/// The maximum size of all files of the audit together: five of 64 MiB, and the line that fills each.
const AUDITS: u64 = 321 * MIB;

/// The length of an attack without an end of its own.
const AWHILE: Duration = Duration::from_secs(5);

/// What the client of every stateless request declares.
fn meta() -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    meta
}

async fn attacked(name: &'static str, config: &str) -> AttackedServer {
    AttackedServer::begin(name, Server::builder().guest("hostile_tasks").config(config)).await
}

/// The bytes of the files in a folder.
fn stored(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap()).map(|file| file.len()).sum()
}

/// Begins tasks until it is over, and cancels every fourth. Returns their ids, and how many calls stayed plain calls.
async fn flood(client: TaskClient, is_over: impl Fn() -> bool) -> (Vec<String>, usize) {
    let (mut ids, mut plain) = (Vec::new(), 0);
    while !is_over() {
        let reply = client.call("hostile_tasks-tell", json!({ "ms": 20, "bytes": 100 })).await;
        match reply.response()["result"]["taskId"].as_str() {
            Some(id) => ids.push(id.to_owned()),
            None => plain += 1,
        }
        if let Some(id) = ids.last().filter(|_| ids.len() % 4 == 0) {
            client.request("tasks/cancel", json!({ "taskId": id })).await;
        }
    }
    (ids, plain)
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_without_end_are_bounded_and_slow_nobody() {
    // An eighth is the caller's, in which there is room for a few hundred tasks.
    let attacked = attacked("task flood", "[server]\ntask_store_mib = 8\n").await;
    let (url, files) = (attacked.server().url(), attacked.server().open_files());
    let end = Instant::now() + AWHILE;
    let mut attackers = JoinSet::new();
    for _ in 0..16 {
        attackers.spawn(flood(TaskClient::new(Client::new(url.clone())), move || Instant::now() >= end));
    }
    tokio::time::sleep(AWHILE / 2).await;
    let neighbour = TaskClient::new(Client::from(url.clone(), [127, 0, 0, 3]));
    let id = neighbour.start("polite-nap", json!({ "ms": 2_300 })).await;
    neighbour.wait_for(&id, "completed").await;
    let open = attacked.server().open_files();
    assert!(open < files + 64, "{open} open files, {files} before");
    let (mut ids, mut plain) = (Vec::new(), 0);
    for (more, further) in attackers.join_all().await {
        ids.extend(more);
        plain += further;
    }
    println!("{} tasks, {plain} plain calls", ids.len());
    assert!((50..=320).contains(&ids.len()) && plain > 20, "{} tasks, {plain} plain calls", ids.len());
    let disk = stored(&attacked.server().state());
    assert!(disk < 32 * MIB, "{} MiB on the disk", disk / MIB);
    // None was forgotten for others. Some ended when there was no space for their results any more.
    let client = TaskClient::new(Client::new(url));
    for id in ids {
        let task = client.get(&id).await;
        let has_no_space =
            task["error"]["message"].as_str().is_some_and(|why| why.contains("task_store_mib"));
        assert!(task["status"] == "completed" || task["status"] == "cancelled" || has_no_space, "{task}");
    }
    attacked.end(128 * MIB).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: a million calls take about an hour"]
async fn soak_tasks_of_a_million_calls_are_bounded() {
    // Tasks expire meanwhile, so that there is room for others.
    let config = "[server]\ntask_store_mib = 8\ntask_ttl_s = 60\ncaller_calls_per_second = 1_000_000_000\n";
    let attacked = attacked("a million tasks", config).await;
    let (url, files) = (attacked.server().url(), attacked.server().open_files());
    let calls = Arc::new(AtomicUsize::new(0));
    let mut attackers = JoinSet::new();
    for _ in 0..16 {
        let calls = Arc::clone(&calls);
        let is_over = move || calls.fetch_add(1, Ordering::Relaxed) >= 1_000_000;
        attackers.spawn(flood(TaskClient::new(Client::new(url.clone())), is_over));
    }
    let ended = attackers.join_all().await;
    let (tasks, plain) =
        ended.iter().fold((0, 0), |(tasks, plain), (ids, more)| (tasks + ids.len(), plain + more));
    println!("{tasks} tasks, {plain} plain calls");
    // Many times as many as there is room for at once.
    assert!(tasks + plain == 1_000_000 && tasks > 1_000, "{tasks} tasks, {plain} plain calls");
    let open = attacked.server().open_files();
    assert!(open < files + 64, "{open} open files, {files} before");
    let disk = stored(&attacked.server().state());
    assert!(disk < AUDITS + 32 * MIB, "{} MiB on the disk", disk / MIB);
    attacked.end(128 * MIB).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_that_do_not_read_are_bounded_and_slow_nobody() {
    let attacked = attacked("unread tasks", SMALL_BUDGET).await;
    let client = TaskClient::new(Client::new(attacked.server().url()));
    let id = client.start("hostile_tasks-tell", json!({ "ms": 1_000, "bytes": LARGE })).await;
    let params = json!({ "notifications": { "taskIds": [id] }, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    let (body, authority) = (body.to_string(), attacked.authority());
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
    let mut listeners = Vec::new();
    for _ in 0..120 {
        listeners.push(send(&authority, &post_head(&authority, &headers, body.len()), body.as_bytes()).await);
    }
    // Some ask as well, and read the answer no more than that.
    tokio::time::sleep(AWHILE).await;
    let params = json!({ "taskId": id, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": params }).to_string();
    let headers =
        [("mcp-protocol-version", STATELESS), ("mcp-method", "tasks/get"), ("mcp-name", id.as_str())];
    for _ in 0..60 {
        listeners.push(send(&authority, &post_head(&authority, &headers, body.len()), body.as_bytes()).await);
    }
    tokio::time::sleep(AWHILE / 2).await;
    drop(listeners);
    let begun = Instant::now();
    loop {
        let got = client.request("tasks/get", json!({ "taskId": id })).await;
        if got.response()["result"]["status"] == "completed" {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", got.response()["error"]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    attacked.end(MAX_MEMORY).await;
}

/// Sends a `tasks/update` with these responses, which are JSON or not.
async fn answer(http: &Client, id: &str, responses: &str) -> HttpResponse {
    let params = json!({ "taskId": id, "inputResponses": "RESPONSES", "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/update", "params": params }).to_string();
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tasks/update"), ("mcp-name", id)];
    http.post(&headers, body.replace("\"RESPONSES\"", responses)).await
}

/// An accepted answer of this length.
fn accepted(length: usize) -> String {
    json!({ "action": "accept", "content": { "text": "a".repeat(length) } }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_nonsense_leave_the_task_waiting() {
    let attacked = attacked("nonsense", SMALL_BUDGET).await;
    let http = Client::new(attacked.server().url());
    let client = TaskClient::new(http.clone());
    let id = client.start("hostile_tasks-many", json!({ "questions": 2 })).await;
    client.wait_for(&id, "input_required").await;
    let to_first = |response: &str| format!("{{\"q0\":{response}}}");
    let nested = "[".repeat(100_000) + &"]".repeat(100_000);
    let wide = format!("{{\"action\":\"accept\",\"content\":[{}0]}}", "0,".repeat(400_000));
    let mut rejected: Vec<String> = ["5", "[]", "null", "\"q0\"", "true"].map(str::to_owned).into();
    rejected.extend(
        [
            "5",
            "[]",
            "null",
            "{}",
            r#"{"action":5}"#,
            r#"{"action":"perhaps"}"#,
            r#"{"action":"accept"}"#,
            r#"{"action":"accept","content":5}"#,
            r#"{"action":"accept","content":{}}"#,
            r#"{"action":"accept","content":{"text":5}}"#,
            r#"{"action":"accept","content":{"text":["a"]}}"#,
            r#"{"action":"accept","content":{"$serde_json::private::RawValue":"{\"text\":\"a\"}"}}"#,
            nested.as_str(),
            wide.as_str(),
        ]
        .map(to_first),
    );
    // Not even JSON.
    rejected.extend(["{", "{\"q0\":}", "{\"q0\":nan}", "\u{0}"].map(str::to_owned));
    for responses in rejected {
        let reply = answer(&http, &id, &responses).await;
        let beginning: String = responses.chars().take(80).collect();
        assert!(matches!(reply.error_code(), -32602 | -32700), "{beginning}: {reply:?}");
        assert!(reply.text.len() < 1_000, "{beginning}: {} bytes", reply.text.len());
    }
    // Keys of no question are ignored, however large.
    let ignored = json!({ "q": "a".repeat(LARGE), "Q0": 5, "q00": {}, "": null }).to_string();
    assert_eq!(answer(&http, &id, &ignored).await.result()["resultType"], "complete");
    let task = client.get(&id).await;
    let open: Vec<&str> = task["inputRequests"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((&task["status"], open), (&json!("input_required"), vec!["q0", "q1"]), "{task}");
    for key in ["q0", "q1"] {
        let reply = answer(&http, &id, &format!("{{\"{key}\":{}}}", accepted(1_000_000))).await;
        assert_eq!(reply.result()["resultType"], "complete");
    }
    let done = client.wait_for(&id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "2000000 bytes");
    attacked.end(MAX_MEMORY).await;
}

/// Answers all questions of a task but the last one with megabytes, until there is no room. Returns how many were
/// taken.
async fn answer_in_pieces(http: Client, id: String) -> usize {
    for number in 0..8 {
        let reply = answer(&http, &id, &format!("{{\"q{number}\":{}}}", accepted(LARGE))).await;
        if reply.messages.last().is_none_or(|message| message["error"].is_object()) {
            assert_eq!(reply.status, 503, "{reply:?}");
            return number;
        }
    }
    8
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_megabytes_in_pieces_are_bounded() {
    let attacked = attacked("pieces", SMALL_BUDGET).await;
    let http = Client::new(attacked.server().url());
    let client = TaskClient::new(http.clone());
    let (mut ids, mut answering) = (Vec::new(), JoinSet::new());
    for _ in 0..6 {
        let id = client.start("hostile_tasks-many", json!({ "questions": 9 })).await;
        client.wait_for(&id, "input_required").await;
        answering.spawn(answer_in_pieces(http.clone(), id.clone()));
        ids.push(id);
    }
    let taken: usize = answering.join_all().await.into_iter().sum();
    assert!((1..16).contains(&taken), "{taken} answers were taken");
    for id in &ids {
        client.request("tasks/cancel", json!({ "taskId": id })).await;
        client.wait_for(id, "cancelled").await;
    }
    attacked.end(MAX_MEMORY).await;
}
