//! Ids of tasks that are guessed, altered or another principal's: whoever sends one learns nothing, not even that there
//! is such a task. Two principals with static tokens, both generations of tasks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plugport_tests::containment::AttackedServer;
use plugport_tests::http_client::{Client, HttpResponse, LEGACY, STATELESS, Session, stateless_meta};
use plugport_tests::server::Server;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::access::{ADA, BOB, as_caller, both};
use crate::mcp::tasks::TaskClient;

/// The methods of each generation that take an id.
const METHODS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];
const SESSION_METHODS: [&str; 3] = ["tasks/get", "tasks/result", "tasks/cancel"];

/// The length of a flood of guesses, and the most that the server may grow by it.
const AWHILE: Duration = Duration::from_secs(4);
const MAX_MEMORY: u64 = 64 << 20;

/// How long a listener must hear nothing.
const SILENCE: Duration = Duration::from_millis(500);

async fn server() -> Server {
    let config = format!("[limits]\ntask_after_ms = 100\n{}", both());
    Server::builder().guest("polite").config(&config).start().await
}

/// The id of a task of a session.
async fn session_task(session: &Session, ms: u64) -> String {
    let params = json!({ "name": "polite-nap", "arguments": { "ms": ms }, "task": { "ttl": 60_000 } });
    let created = session.request("tools/call", params).await;
    created.result()["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned()
}

/// An id with each of some characters changed, cut, lengthened, and in another alphabet.
fn altered(id: &str) -> Vec<String> {
    let changed = |at: usize| {
        let mut bytes = id.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let mut ids: Vec<String> = [0, 10, 20, 21, 22, 30, 41].map(changed).into();
    ids.extend([id[..42].to_owned(), format!("{id}A"), format!("{id}="), id.to_uppercase(), id.repeat(2)]);
    ids.extend(["x", "0", "null", "../records", "%00"].map(str::to_owned));
    ids
}

/// All of a response that may differ: its status, its body without the request's id, and its headers without the date.
fn bytes_of(response: &HttpResponse, request: u64) -> (u16, String, BTreeSet<(String, String)>) {
    let headers = response.headers.iter().filter(|(name, _)| *name != "date");
    let headers = headers.map(|(name, value)| (name.to_string(), format!("{value:?}"))).collect();
    (response.status, response.text.replace(&request.to_string(), "ID"), headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_another_principal_is_answered_like_one_that_never_was() {
    let server = server().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let (ada_session, bob_session) = (ada.session(LEGACY).await, bob.session(LEGACY).await);
    let (own, thief) = (TaskClient::new(ada), TaskClient::new(bob));
    let (done, running) = (
        own.start("polite-nap", json!({ "ms": 700 })).await,
        own.start("polite-nap", json!({ "ms": 3_000 })).await,
    );
    let (session_done, session_running) =
        (session_task(&ada_session, 1).await, session_task(&ada_session, 3_000).await);
    own.wait_for(&done, "completed").await;
    ada_session.request("tasks/result", json!({ "taskId": session_done })).await;
    let own_of_bob = thief.start("polite-nap", json!({ "ms": 3_000 })).await;
    let own_of_bobs_session = session_task(&bob_session, 3_000).await;

    let never = "A".repeat(43);
    let ids_of_ada = [&done, &running, &session_done, &session_running].map(Clone::clone);
    let guessed = || altered(&own_of_bob).into_iter().chain(altered(&running)).chain(ids_of_ada.clone());
    for method in METHODS {
        let seen = async |id: &str| {
            let params = json!({ "taskId": id, "inputResponses": {} });
            bytes_of(&thief.request(method, params).await, 1)
        };
        let unknown = seen(&never).await;
        assert!(unknown.1.contains("-32602"), "{unknown:?}");
        for id in guessed().chain([own_of_bobs_session.clone()]) {
            assert_eq!(seen(&id).await, unknown, "{method} of {id}");
        }
    }
    let mut request = 2_000_000;
    for method in SESSION_METHODS {
        let mut seen = async |id: &str| {
            request += 1;
            let answer = bob_session.request_as(json!(request), method, json!({ "taskId": id })).await;
            bytes_of(&answer, request)
        };
        let unknown = seen(&never).await;
        assert!(unknown.1.contains("-32602"), "{unknown:?}");
        for id in guessed().chain([own_of_bob.clone()]) {
            assert_eq!(seen(&id).await, unknown, "{method} of {id}");
        }
    }
    // Nothing of that has cancelled or changed a task.
    own.wait_for(&running, "completed").await;
    let result = ada_session.request("tasks/result", json!({ "taskId": session_running })).await;
    assert_eq!(result.tool_text(), "rested");
    thief.wait_for(&own_of_bob, "completed").await;
}

/// The first message to a listener to these tasks, and its stream.
async fn listen(client: &Client, ids: &[&str]) -> (String, plugport_tests::http_client::Stream) {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
                       "params": { "notifications": { "taskIds": ids }, "_meta": meta } });
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
    let mut stream = client.stream(&headers, &body).await;
    let accepted = stream.event().await.unwrap_or_else(|| panic!("no acknowledgement"));
    (accepted.data, stream)
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_learn_nothing_from_ids_of_others() {
    let server = server().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let own = TaskClient::new(ada.clone());
    let id = own.start("polite-nap", json!({ "ms": 1_500 })).await;
    let session = ada.session(LEGACY).await;
    let of_session = session_task(&session, 1_500).await;
    let (never, altered) = ("A".repeat(43), altered(&id));
    let (unknown, _) = listen(&bob, &[&never]).await;
    let mut guessed: Vec<&str> = altered.iter().map(String::as_str).collect();
    guessed.extend([id.as_str(), of_session.as_str()]);
    let (accepted, mut stream) = listen(&bob, &guessed).await;
    assert_eq!(accepted, unknown);
    let acknowledged: Value = serde_json::from_str(&accepted).unwrap();
    assert_eq!(acknowledged["params"]["notifications"]["taskIds"], json!([]), "{accepted}");
    own.wait_for(&id, "completed").await;
    let told = tokio::time::timeout(SILENCE, stream.message()).await;
    assert!(told.is_err(), "{told:?}");
}

/// Asks for, answers and cancels tasks by ids that are nearly this one. Returns how many.
async fn guess(client: TaskClient, id: String, end: Instant) -> usize {
    let guesses = altered(&id);
    let mut count = 0;
    for (guessed, method) in guesses.iter().cycle().zip(METHODS.iter().cycle()) {
        if Instant::now() >= end {
            break;
        }
        let reply = client.request(method, json!({ "taskId": guessed, "inputResponses": {} })).await;
        assert_eq!(reply.error_code(), -32602, "{method} of {guessed}: {reply:?}");
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_without_end_find_no_task_and_slow_nobody() {
    let config = "[server]\ncaller_calls_per_second = 1_000_000_000\n[limits]\ntask_after_ms = 100\n";
    let attacked = AttackedServer::begin("guessed ids", Server::builder().config(config)).await;
    let url = attacked.server().url();
    let own = TaskClient::new(Client::from(url.clone(), [127, 0, 0, 3]));
    let id = own.start("polite-nap", json!({ "ms": 60_000 })).await;
    let end = Instant::now() + AWHILE;
    let mut attackers = JoinSet::new();
    for _ in 0..8 {
        attackers.spawn(guess(TaskClient::new(Client::new(url.clone())), id.clone(), end));
    }
    let guesses: usize = attackers.join_all().await.into_iter().sum();
    assert!(guesses > 100, "only {guesses} guesses");
    assert_eq!(own.get(&id).await["status"], "working");
    own.request("tasks/cancel", json!({ "taskId": id })).await;
    own.wait_for(&id, "cancelled").await;
    attacked.end(MAX_MEMORY).await;
}
