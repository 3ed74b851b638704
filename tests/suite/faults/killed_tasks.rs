//! A server that makes tasks is killed at random moments: no id that was answered is forgotten, and no result that was
//! seen changes.

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

/// Every call that sleeps becomes a task.
const CONFIG: &str = "[limits]\ntask_after_ms = 20\n";

/// How long those calls sleep. A slow disk may take much of it to write the record of a task, and a call that ends before
/// that stays a plain call.
const SLEEP_MS: u64 = 200;

/// Clients that make tasks at the same time.
const CLIENTS: usize = 4;

/// The ids that were answered, and the finished tasks that were seen.
type Seen = Arc<Mutex<BTreeMap<String, Option<Value>>>>;

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
    let folder = folder(&["polite"]);
    let seen = Seen::default();
    let mut random = seeded(seed);
    // From here on the compiled code is on the disk.
    let first = RawServer::start(folder.path(), CONFIG);
    TaskClient::new(Client::new(first.url().await)).start("polite-nap", json!({ "ms": SLEEP_MS })).await;
    drop(first);
    for _ in 0..lives {
        let mut server = RawServer::start(folder.path(), CONFIG);
        let url = server.url().await;
        check(&url, &seen).await;
        let busy: Vec<_> =
            (0..CLIENTS).map(|_| tokio::spawn(make_tasks(url.clone(), seen.clone()))).collect();
        tokio::time::sleep(Duration::from_millis(400 + random(800) as u64)).await;
        server.child.kill().await.unwrap();
        busy.iter().for_each(tokio::task::JoinHandle::abort);
    }
    let server = RawServer::start(folder.path(), CONFIG);
    check(&server.url().await, &seen).await;
    assert!(seen.lock().unwrap().values().flatten().count() > lives, "hardly a task has ended");
}

/// Makes tasks and asks for them, until the server is gone.
async fn make_tasks(url: String, seen: Seen) {
    let client = TaskClient::new(Client::new(url));
    loop {
        let id = client.start("polite-nap", json!({ "ms": SLEEP_MS })).await;
        seen.lock().unwrap().insert(id.clone(), None);
        let task = client.wait_for(&id, "completed").await;
        seen.lock().unwrap().insert(id, Some(task));
    }
}

/// Every id is known, and every finished task is what it was.
async fn check(url: &str, seen: &Seen) {
    let client = TaskClient::new(Client::new(url));
    let known = seen.lock().unwrap().clone();
    for (id, before) in known {
        let task = client.get(&id).await;
        match before {
            Some(before) => assert_eq!(task, before),
            None => assert!(task["status"] == "completed" || task["status"] == "failed", "{task}"),
        }
    }
}
