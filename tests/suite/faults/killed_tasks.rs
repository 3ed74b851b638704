//! A server that makes tasks is killed at random moments: no id that was answered is forgotten, and no result that was
//! seen changes or lacks a byte. Some of the tasks have long results, some ask, and some are cancelled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plugport_tests::guests::folder;
use plugport_tests::hostile_files::seeded;
use plugport_tests::http_client::Client;
use plugport_tests::raw_server::RawServer;
use plugport_tests::server::whole_machine;
use serde_json::{Value, json};

use crate::mcp::tasks::TaskClient;

/// Calls become tasks at once, and nothing but the kill stops them. A caller may store an eighth.
const CONFIG: &str = "[server]\ntask_store_mib = 65_536\ncaller_calls_per_second = 1_000_000_000\n\
                      [limits]\ntask_after_ms = 20\n[plugins.jobs.grants]\nelicitation = true\n";

/// How long those calls sleep. A slow disk may take much of it to write the record of a task, and a call that ends before
/// that stays a plain call.
const SLEEP_MS: u64 = 200;

/// Clients that make tasks at the same time.
const CLIENTS: usize = 16;

/// What happens to a task besides the kill.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Its result is short.
    Short,
    /// Its result takes many pages of the database.
    Long,
    /// It asks its client.
    Asks,
    /// Its client cancels it.
    Cancelled,
}

/// A task, as the client that made it knows it.
#[derive(Clone)]
struct Made {
    kind: Kind,
    /// The word that its result repeats, which no other task has, and how often.
    word: String,
    times: usize,
    /// The task after its end, if the client has seen that.
    ended: Option<Value>,
}

/// The tasks by their ids.
type Seen = Arc<Mutex<BTreeMap<String, Made>>>;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: two hundred lives of a server take some minutes"]
async fn soak_tasks_survive_a_server_killed_at_two_hundred_moments() {
    assert_survive(200, 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_survive_a_server_killed_while_it_makes_and_ends_them() {
    assert_survive(8, 8).await;
}

async fn assert_survive(lives: usize, seed: u64) {
    let _machine = whole_machine().await;
    let folder = folder(&["jobs"]);
    let mut all = BTreeMap::new();
    let mut random = seeded(seed);
    // From here on the compiled code is on the disk.
    let first = RawServer::start(folder.path(), CONFIG);
    let sleep = json!({ "ms": SLEEP_MS, "word": "x", "times": 1 });
    TaskClient::new(Client::new(first.url().await)).start("jobs-repeat", sleep).await;
    drop(first);
    let mut last = BTreeMap::new();
    for life in 0..lives {
        let mut server = RawServer::start(folder.path(), CONFIG);
        let url = server.url().await;
        check(&url, &last).await;
        all.append(&mut last);
        let seen = Seen::default();
        let busy: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(make_tasks(url.clone(), seen.clone(), life, client)))
            .collect();
        tokio::time::sleep(Duration::from_millis(400 + random(800) as u64)).await;
        server.child.kill().await.unwrap();
        busy.iter().for_each(tokio::task::JoinHandle::abort);
        last.append(&mut seen.lock().unwrap());
    }
    let server = RawServer::start(folder.path(), CONFIG);
    all.append(&mut last);
    check(&server.url().await, &all).await;
    let ended = |kind: Kind| all.values().filter(|made| made.kind == kind && made.ended.is_some()).count();
    let counts = [Kind::Short, Kind::Long, Kind::Asks, Kind::Cancelled].map(|kind| (kind, ended(kind)));
    println!("{} tasks; ended: {counts:?}", all.len());
    assert!(counts.iter().all(|(_, count)| *count > lives / 4), "hardly a task has ended: {counts:?}");
}

/// Makes tasks and follows each to its end, until the server is gone.
async fn make_tasks(url: String, seen: Seen, life: usize, number: usize) {
    let client = TaskClient::new(Client::new(url));
    for round in 0.. {
        let kind = [Kind::Short, Kind::Long, Kind::Asks, Kind::Cancelled][(number + round) % 4];
        let length = match kind {
            Kind::Long if (life + number).is_multiple_of(8) => 1 << 20,
            Kind::Long => 100 << 10,
            _ => 100,
        };
        let word = format!("{life}-{number}-{round} ");
        let times = length / word.len();
        let (tool, arguments) = match kind {
            Kind::Asks => ("jobs-ask", json!({ "ms": SLEEP_MS, "times": times })),
            _ => ("jobs-repeat", json!({ "ms": SLEEP_MS, "word": word, "times": times })),
        };
        let created = client.call(tool, arguments).await;
        // It may have ended before the record of a task was on the disk.
        let Some(id) = created.result()["taskId"].as_str() else { continue };
        let made = Made { kind, word: word.clone(), times, ended: None };
        seen.lock().unwrap().insert(id.to_owned(), made);
        if kind == Kind::Cancelled {
            client.request("tasks/cancel", json!({ "taskId": id })).await;
        }
        let ended = follow(&client, id, &word).await;
        seen.lock().unwrap().get_mut(id).unwrap().ended = Some(ended);
    }
}

/// Answers what a task asks, and returns it when it has ended.
async fn follow(client: &TaskClient, id: &str, word: &str) -> Value {
    loop {
        let task = client.get(id).await;
        match task["status"].as_str() {
            Some("working") => tokio::time::sleep(Duration::from_millis(20)).await,
            Some("input_required") => {
                let responses = json!({ "word": { "action": "accept", "content": { "word": word } } });
                client.request("tasks/update", json!({ "taskId": id, "inputResponses": responses })).await;
            }
            _ => return task,
        }
    }
}

/// Every id is known, every finished task is what it was, and each result is that of its task.
async fn check(url: &str, known: &BTreeMap<String, Made>) {
    let client = TaskClient::new(Client::new(url));
    for (id, Made { kind, word, times, ended }) in known {
        let task = client.get(id).await;
        let beginning: String = task.to_string().chars().take(500).collect();
        assert!(
            ended.as_ref().is_none_or(|ended| task == *ended),
            "{id} was another task before: {beginning}"
        );
        match task["status"].as_str() {
            Some("completed") => {
                let text = task["result"]["content"][0]["text"].as_str();
                assert!(text == Some(word.repeat(*times).as_str()), "{beginning}");
            }
            Some("cancelled") => assert_eq!(*kind, Kind::Cancelled, "{beginning}"),
            status => assert!(status == Some("failed") && ended.is_none(), "{kind:?}: {beginning}"),
        }
    }
}
