//! Tasks: a slow call of a client that knows tasks gets an id, and its result survives the server.

use std::time::{Duration, Instant};

use plugport_tests::guests::folder;
use plugport_tests::http_client::{Client, HttpResponse, Stream};
use plugport_tests::raw_server::RawServer;
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::task_bridge::task_id;
use crate::access::{ADA, BOB, as_caller, both};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Calls become tasks soon, and sleeping guests would block each other if their permits were theirs for long.
const SOON: &str = "[limits]\ntask_after_ms = 200\nconcurrent_calls = 2\n";

/// A client that knows tasks.
pub(crate) struct TaskClient(Client);

impl TaskClient {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> HttpResponse {
        let declared = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        self.0.request_with_meta(method, params, json!({ CAPABILITIES: declared })).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> HttpResponse {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool and returns the id of its task.
    pub(crate) async fn start(&self, tool: &str, arguments: Value) -> String {
        let created = self.call(tool, arguments).await;
        assert_eq!(created.result()["resultType"], "task", "{created:?}");
        created.result()["taskId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn get(&self, id: &str) -> Value {
        let got = self.request("tasks/get", json!({ "taskId": id })).await;
        assert_eq!(got.result()["resultType"], "complete", "{got:?}");
        got.result().clone()
    }

    async fn acknowledge(&self, method: &str, params: Value) {
        let done = self.request(method, params).await;
        assert_eq!(done.result()["resultType"], "complete", "{done:?}");
        assert!(done.result().get("taskId").is_none() && done.result().get("status").is_none());
    }

    /// Waits until the task has this status.
    pub(crate) async fn wait_for(&self, id: &str, status: &str) -> Value {
        let begun = Instant::now();
        loop {
            let task = self.get(id).await;
            if task["status"] == status {
                return task;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "never {status}: {task}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn polite(config: &str) -> (Server, TaskClient) {
    served("polite", config).await
}

/// The guest `jobs`, which may ask.
async fn jobs(config: &str) -> (Server, TaskClient) {
    served("jobs", &format!("{config}[plugins.jobs.grants]\nelicitation = true\n")).await
}

async fn served(guest: &str, config: &str) -> (Server, TaskClient) {
    let server = Server::builder().guest(guest).config(config).start().await;
    let client = TaskClient::new(Client::new(server.url()));
    (server, client)
}

/// The headers of `subscriptions/listen`.
pub(crate) const LISTEN: [(&str, &str); 2] =
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];

/// A subscription to these tasks, by a client that declares these extensions.
pub(crate) fn listen_to(tasks: &[&str], extensions: Value) -> Value {
    let mut meta = plugport_tests::http_client::stateless_meta();
    meta[CAPABILITIES] = json!({ "extensions": extensions });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
            "params": { "notifications": { "taskIds": tasks }, "_meta": meta } })
}

fn text(task: &Value) -> &Value {
    &task["result"]["content"][0]["text"]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_call_of_a_guest_that_knows_nothing_becomes_a_task_after_the_grace() {
    let (_server, client) = polite("").await;
    client.call("polite-echo", json!({ "message": "x" })).await;
    let begun = Instant::now();
    let created = client.call("polite-nap", json!({ "ms": 3_000 })).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_millis(2_400), "{took:?}");
    let task = created.result();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    assert!(task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64() && task.get("result").is_none());
    let id = task["taskId"].as_str().unwrap();
    assert_eq!(client.get(id).await["status"], "working");
    let done = client.wait_for(id, "completed").await;
    assert_eq!(text(&done), "rested");
    assert!(done["createdAt"].as_str().unwrap() < done["lastUpdatedAt"].as_str().unwrap(), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_of_progress_is_the_status_message() {
    let (_server, client) = jobs(SOON).await;
    let id = client.start("jobs-report", json!({ "ms": 20_000 })).await;
    let begun = Instant::now();
    // The guest may not have come that far.
    loop {
        let task = client.get(&id).await;
        assert_eq!(task["status"], "working", "{task}");
        if task["statusMessage"] == "step 2" {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(15), "no message: {task}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.acknowledge("tasks/cancel", json!({ "taskId": id })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_tool_that_forbids_tasks_is_never_one() {
    let (server, client) = jobs(&format!("[server]\ntask_bridge = true\n{SOON}")).await;
    let nap = json!({ "ms": 600 });
    let waited = client.call("jobs-forbidden", nap.clone()).await;
    assert_eq!((waited.tool_text(), &waited.result()["resultType"]), ("rested", &json!("complete")));
    // Other tools of the plugin are bridged.
    let plain = Client::new(server.url());
    task_id(&plain.call("jobs-report", json!({ "ms": 3_000 })).await);
    assert_eq!(plain.call("jobs-forbidden", nap.clone()).await.tool_text(), "rested");
    let session = plain.session("2025-11-25").await;
    let params = json!({ "name": "jobs-forbidden", "arguments": nap, "task": {} });
    let rejected = session.request("tools/call", params).await;
    assert_eq!(rejected.error_code(), -32601, "{rejected:?}");
    assert_eq!(session.call("jobs-forbidden", nap).await.tool_text(), "rested");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_has_no_more_tasks_than_its_limit() {
    let config = format!("{SOON}[plugins.polite]\nlimits = {{ tasks = 1 }}\n");
    let server = Server::builder().guest("polite").guest("jobs").config(&config).start().await;
    let client = TaskClient::new(Client::new(server.url()));
    let first = client.start("polite-nap", json!({ "ms": 20_000 })).await;
    let plain = client.call("polite-nap", json!({ "ms": 600 })).await;
    assert_eq!((plain.tool_text(), &plain.result()["resultType"]), ("rested", &json!("complete")));
    client.start("jobs-report", json!({ "ms": 3_000 })).await;
    client.acknowledge("tasks/cancel", json!({ "taskId": first })).await;
    client.wait_for(&first, "cancelled").await;
    client.start("polite-nap", json!({ "ms": 3_000 })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_declare_tasks_waits_and_has_no_methods_for_them() {
    let (server, client) = polite(SOON).await;
    let plain = Client::new(server.url());
    let waited = plain.call("polite-nap", json!({ "ms": 500 })).await;
    assert_eq!((waited.tool_text(), &waited.result()["resultType"]), ("rested", &json!("complete")));
    let id = client.start("polite-nap", json!({ "ms": 500 })).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": {} });
        let missing = plain.request(method, params).await;
        assert_eq!((missing.status, missing.error_code()), (400, -32021), "{missing:?}");
        let needed = &missing.response()["error"]["data"]["requiredCapabilities"];
        assert_eq!(*needed, json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    }
    for removed in ["tasks/result", "tasks/list"] {
        assert_eq!(client.request(removed, json!({ "taskId": id })).await.error_code(), -32601);
    }
    let quick = client.call("polite-echo", json!({ "message": "x" })).await;
    assert_eq!((quick.tool_text(), &quick.result()["resultType"]), ("x", &json!("complete")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_stops_its_guest_and_stays_cancelled() {
    let (_server, client) = polite(SOON).await;
    let id = client.start("polite-nap", json!({ "ms": 20_000 })).await;
    let begun = Instant::now();
    client.acknowledge("tasks/cancel", json!({ "taskId": id })).await;
    let task = client.wait_for(&id, "cancelled").await;
    assert!(begun.elapsed() < Duration::from_millis(1_000), "{:?}", begun.elapsed());
    assert!(task.get("result").is_none() && task.get("error").is_none());
    client.acknowledge("tasks/cancel", json!({ "taskId": id })).await;
    client.acknowledge("tasks/update", json!({ "taskId": id, "inputResponses": { "x": 5 } })).await;
    assert_eq!(client.get(&id).await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_sleep_keep_no_plain_call_waiting() {
    let (_server, client) = polite(SOON).await;
    for _ in 0..6 {
        client.start("polite-nap", json!({ "ms": 8_000 })).await;
    }
    let begun = Instant::now();
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_task_asks_is_answered_with_updates() {
    let config = "[plugins.conformance]\nprefix = \"\"\n[plugins.conformance.grants]\nelicitation = true\n";
    let server = Server::builder().guest("conformance").config(config).start().await;
    let client = TaskClient::new(Client::new(server.url()));
    let id = client.start("multi_input", json!({})).await;
    let task = client.wait_for(&id, "input_required").await;
    assert_eq!(task["inputRequests"]["first"]["method"], "elicitation/create", "{task}");
    let answer = |key: &str, content: Value| {
        let response = json!({ "action": "accept", "content": content });
        json!({ "taskId": id, "inputResponses": { key: response, "other": 5 } })
    };
    let unfit = client.request("tasks/update", answer("first", json!({ "name": 5 }))).await;
    assert_eq!(unfit.error_code(), -32602, "{unfit:?}");
    client.acknowledge("tasks/update", answer("first", json!({ "name": "Ada" }))).await;
    let left = client.get(&id).await["inputRequests"].clone();
    assert!(left.get("first").is_none() && left["second"].is_object(), "{left}");
    client.acknowledge("tasks/update", answer("second", json!({ "name": "Bob" }))).await;
    assert_eq!(text(&client.wait_for(&id, "completed").await), "Ada and Bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_hear_of_the_end_of_their_tasks() {
    let (server, client) = polite(SOON).await;
    let id = client.start("polite-nap", json!({ "ms": 1_200 })).await;
    let listen = |extensions: Value| listen_to(&[&id, "unknown"], extensions);
    let http = Client::new(server.url());
    let undeclared = http.post(&LISTEN, listen(json!({})).to_string()).await;
    assert_eq!(undeclared.error_code(), -32021, "{undeclared:?}");
    let mut stream = http.stream(&LISTEN, &listen(json!({ "io.modelcontextprotocol/tasks": {} }))).await;
    let accepted = stream.message().await;
    assert_eq!(accepted["params"]["notifications"]["taskIds"], json!([id]), "{accepted}");
    let told = stream.message().await;
    assert_eq!(
        (&told["method"], &told["params"]["status"]),
        (&json!("notifications/tasks"), &json!("completed"))
    );
    assert_eq!(text(&told["params"]), "rested");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
}

/// A task that waits for its client, and a stream that listens to it.
async fn listen_to_waiting(server: &Server, client: &TaskClient, arguments: Value) -> (String, Stream) {
    let id = client.start("jobs-insist", arguments).await;
    client.wait_for(&id, "input_required").await;
    let listen = listen_to(&[&id], json!({ "io.modelcontextprotocol/tasks": {} }));
    let mut stream = Client::new(server.url()).stream(&LISTEN, &listen).await;
    let accepted = stream.message().await;
    assert_eq!(accepted["params"]["notifications"]["taskIds"], json!([id]), "{accepted}");
    (id, stream)
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_hear_of_questions_answers_and_cancellation() {
    let (server, client) = jobs("").await;
    let arguments = json!({ "questions": 2, "ms": 20_000 });
    let (id, mut stream) = listen_to_waiting(&server, &client, arguments).await;
    let answer = async |key: &str| {
        let responses = json!({ key: { "action": "accept", "content": { "word": "x" } } });
        client.acknowledge("tasks/update", json!({ "taskId": id, "inputResponses": responses })).await;
    };
    answer("q0").await;
    // The second question may come before the first notification is written.
    let told = stream.message().await;
    assert!(told["params"]["status"] == "working" || told["params"]["status"] == "input_required", "{told}");
    let told = stream.message().await;
    assert_eq!(told["params"]["status"], "input_required", "{told}");
    assert!(told["params"]["inputRequests"]["q1"].is_object(), "{told}");
    answer("q1").await;
    let told = stream.message().await;
    assert_eq!(told["params"]["status"], "working", "{told}");
    client.acknowledge("tasks/cancel", json!({ "taskId": id })).await;
    let told = stream.message().await;
    assert_eq!(told["params"]["status"], "cancelled", "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_hear_that_a_task_waits_no_longer() {
    let (server, client) = jobs("[server]\nsuspended_call_s = 10\n").await;
    let arguments = json!({ "questions": 1, "ms": 20_000 });
    let (id, mut stream) = listen_to_waiting(&server, &client, arguments).await;
    let told = stream.message().await;
    assert_eq!(told["params"]["status"], "working", "{told}");
    client.acknowledge("tasks/cancel", json!({ "taskId": id })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_get_a_result_once_however_often_they_name_its_task() {
    let (server, client) = polite(SOON).await;
    let done = client.start("polite-nap", json!({ "ms": 300 })).await;
    client.wait_for(&done, "completed").await;
    let running = client.start("polite-nap", json!({ "ms": 1_200 })).await;
    let named = [done.as_str(), &done, &running, &done];
    let listen = listen_to(&named, json!({ "io.modelcontextprotocol/tasks": {} }));
    let mut stream = Client::new(server.url()).stream(&LISTEN, &listen).await;
    let accepted = stream.message().await;
    assert_eq!(
        accepted["params"]["notifications"]["taskIds"].as_array().map(Vec::len),
        Some(2),
        "{accepted}"
    );
    for id in [done, running] {
        let told = stream.message().await;
        assert_eq!(
            (&told["params"]["taskId"], text(&told["params"])),
            (&json!(id), &json!("rested")),
            "{told}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_end_at_once_do_not_exceed_what_a_caller_may_store() {
    let config = "[server]\ntask_store_mib = 1\n[plugins.conformance]\nprefix = \"\"\n";
    let server = Server::builder().guest("conformance").config(config).start().await;
    // Of 1 MiB a caller may have an eighth, and one of these results.
    let call = async |client: TaskClient| {
        let arguments = json!({ "seconds": 1, "label": "x".repeat(70 << 10) });
        let id = client.start("slow_compute", arguments).await;
        let begun = Instant::now();
        loop {
            let task = client.get(&id).await;
            if task["status"] != "working" {
                return task;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{task}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let client = || TaskClient::new(Client::new(server.url()));
    let ended: [Value; 4] =
        tokio::join!(call(client()), call(client()), call(client()), call(client())).into();
    let (completed, failed): (Vec<_>, Vec<_>) = ended.iter().partition(|task| task["status"] == "completed");
    assert_eq!((completed.len(), failed.len()), (1, 3));
    for task in failed {
        let why = task["error"]["message"].as_str().unwrap();
        assert!(task["status"] == "failed" && why.contains("task_store_mib"), "{task}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_another_principal_is_none() {
    let server = Server::builder().guest("polite").config(&format!("{SOON}{}", both())).start().await;
    let own = TaskClient::new(as_caller(&server, ADA));
    let id = own.start("polite-nap", json!({ "ms": 1_500 })).await;
    let thief = TaskClient::new(as_caller(&server, BOB));
    let never = "A".repeat(43);
    for _ in 0..2 {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let seen = async |id: &str| {
                let answer = thief.request(method, json!({ "taskId": id, "inputResponses": {} })).await;
                let headers = answer.headers.iter().filter(|(name, _)| *name != "date");
                let headers: Vec<_> = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
                (answer.status, answer.text, headers)
            };
            let stolen = seen(&id).await;
            assert!(stolen.1.contains("-32602"), "{stolen:?}");
            assert_eq!(stolen, seen(&never).await, "{method}");
        }
        // Once more when the task has ended.
        own.wait_for(&id, "completed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_with_many_tasks_gets_plain_calls_and_its_neighbour_gets_tasks() {
    let server = Server::builder().guest("polite").config(&format!("{SOON}{}", both())).start().await;
    let greedy = TaskClient::new(as_caller(&server, ADA));
    for _ in 0..32 {
        greedy.start("polite-nap", json!({ "ms": 15_000 })).await;
    }
    let plain = greedy.call("polite-nap", json!({ "ms": 600 })).await;
    assert_eq!(plain.tool_text(), "rested");
    TaskClient::new(as_caller(&server, BOB)).start("polite-nap", json!({ "ms": 600 })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_survive_a_killed_server_and_what_ran_has_failed() {
    let folder = folder(&["polite"]);
    let mut server = RawServer::start(folder.path(), SOON);
    let client = TaskClient::new(Client::new(server.url().await));
    let done = client.start("polite-nap", json!({ "ms": 400 })).await;
    let before = client.wait_for(&done, "completed").await;
    let running = client.start("polite-nap", json!({ "ms": 20_000 })).await;
    server.child.kill().await.unwrap();
    let server = RawServer::start(folder.path(), SOON);
    let client = TaskClient::new(Client::new(server.url().await));
    assert_eq!(client.get(&done).await, before);
    let failed = client.get(&running).await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!(-32603)), "{failed}");
    assert!(failed.get("result").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_has_one_line_for_a_call_that_became_a_task() {
    let (server, client) = polite(SOON).await;
    let id = client.start("polite-nap", json!({ "ms": 500 })).await;
    client.wait_for(&id, "completed").await;
    let lines = server.wait_for_audit_lines(|line| line["function"] == "tools/call", 1).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["outcome"], "ok", "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_2025_11_25_has_tasks_of_its_own_kind() {
    let config = "[plugins.conformance]\nprefix = \"\"\n[plugins.conformance.grants]\nelicitation = true\n";
    let server = Server::builder().guest("conformance").config(config).start().await;
    let session = Client::new(server.url()).session_with("2025-11-25", json!({ "elicitation": {} })).await;
    let call = async |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments, "task": { "ttl": 60_000 } });
        let created = session.request("tools/call", params).await;
        created.result()["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned()
    };
    let id = call("slow_compute", json!({ "seconds": 1, "label": "a" })).await;
    let task = session.request("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(
        (&task.result()["status"], task.result()["ttl"].is_u64()),
        (&json!("working"), true),
        "{task:?}"
    );
    let done = session.request("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(done.tool_text(), "a: computed for 1 s");
    assert_eq!(done.result()["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], json!(id));
    assert_eq!(session.request("tasks/get", json!({ "taskId": id })).await.result()["status"], "completed");
    let id = call("slow_compute", json!({ "seconds": 20, "label": "b" })).await;
    let cancelled = session.request("tasks/cancel", json!({ "taskId": id })).await;
    assert_eq!(cancelled.result()["status"], "cancelled", "{cancelled:?}");
    assert_eq!(session.request("tasks/cancel", json!({ "taskId": id })).await.error_code(), -32602);
    let plain = session.call("failing_job", json!({})).await;
    assert_eq!(plain.error_code(), -32601, "{plain:?}");
    let newer = TaskClient::new(Client::new(server.url()));
    let foreign = newer.request("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(foreign.error_code(), -32602, "{foreign:?}");
    // What the task asks comes on the stream of `tasks/result`.
    let id = call("confirm_delete", json!({ "filename": "x" })).await;
    let mut stream = session.stream(json!("r"), "tasks/result", json!({ "taskId": id })).await;
    let asked = stream.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], json!(id));
    let task = session.request("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(task.result()["status"], "input_required", "{task:?}");
    session.respond(&asked, json!({ "action": "accept", "content": { "confirm": true } })).await;
    let done = stream.message().await;
    assert_eq!(done["result"]["content"][0]["text"], "x is deleted", "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_wait_for_the_result_is_asked_on_the_stream_of_its_session() {
    let config = "[plugins.conformance]\nprefix = \"\"\n[plugins.conformance.grants]\nelicitation = true\n";
    let server = Server::builder().guest("conformance").config(config).start().await;
    let client = Client::new(server.url());
    let session = client.session_with("2025-11-25", json!({ "elicitation": {} })).await;
    let other = client.session_with("2025-11-25", json!({ "elicitation": {} })).await;
    let (mut own_stream, mut other_stream) = (session.listen(None).await, other.listen(None).await);
    let params = json!({ "name": "confirm_delete", "arguments": { "filename": "x" }, "task": {} });
    let created = session.request("tools/call", params).await;
    let id = created.result()["task"]["taskId"].clone();
    // Whoever has the id may wait for the result, but only the session of the call can answer.
    let (waiting, waiting_for) = (other.clone(), json!({ "taskId": id }));
    let waiting = tokio::spawn(async move { waiting.request("tasks/result", waiting_for).await });
    let asked = own_stream.message().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    session.respond(&asked, json!({ "action": "accept", "content": { "confirm": true } })).await;
    let done = session.request("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(done.tool_text(), "x is deleted");
    let seen = waiting.await.unwrap();
    assert_eq!((seen.tool_text(), seen.messages.len()), ("x is deleted", 1), "{seen:?}");
    let told = tokio::time::timeout(Duration::from_millis(300), other_stream.message()).await;
    assert!(told.is_err(), "{told:?}");
}
