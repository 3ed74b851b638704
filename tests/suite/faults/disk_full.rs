//! On a full disk, plugins are served without cached code, and plugins that store values can read them and get an error
//! for each write (C11). The audit and the lockfile are in `os_faults`.

use std::path::Path;
use std::time::{Duration, Instant};

use plugport_tests::build::code_cache;
use plugport_tests::containment::{MAX_NEIGHBOUR_WAIT, Neighbour};
use plugport_tests::guests::plugin;
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_guest, wait_for_log_times, wait_for_result};
use plugport_tests::server::{Builder, Server};
use serde_json::json;
use tokio::process::Command;

use crate::faults::os_faults::full_beyond;
use crate::mcp::tasks::TaskClient;

/// Lets no file of the server grow beyond so many bytes, or any.
async fn limit(server: &Server, bytes: Option<u64>) {
    let bytes = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    let (pid, limit) = (server.pid().to_string(), format!("--fsize={bytes}:"));
    assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().await.unwrap().success());
}

/// The files with compiled code, and those that are not finished.
fn cached_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(code_cache(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "secret").collect()
}

/// Neither code nor values of plugins are stored, and no call fails because of this.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_no_code_is_cached_and_every_plugin_is_served() {
    let builder = Server::builder().guest("polite").guest("version_a");
    // Enough for the images of the plugins' memories, which are files too, but not for their code or a database.
    let builder = builder.config("[plugins.version_a.grants]\nkv = true\n").shell_first(&full_beyond(256));
    let server = builder.without_cache().start().await;
    let client = Client::new(server.url());
    wait_for_result(&client, "version_a-version", Some("a")).await;
    install_guest("version_b", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("b")).await;
    Neighbour::new(server.url()).echo().await;
    assert_eq!(cached_files(server.folder()), [""; 0], "{}", server.log());
    for (warning, remedy) in [
        (
            "cannot write to the code cache",
            "cache/plugport/compiled, so the file is compiled again next time; check",
        ),
        ("plugins cannot store anything for now", "check its disk and its mode"),
    ] {
        let told = server.log();
        assert_eq!(told.matches(warning).count(), 1, "{told}");
        assert!(told.contains(remedy), "{told}");
    }
    limit(&server, None).await;
    install_guest("changed_description", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("described")).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while cached_files(server.folder()).is_empty() {
        assert!(Instant::now() < deadline, "nothing is kept although there is room: {}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.terminate().await, Some(0));
}

/// Two notebooks that share the database, which lies in `state`.
fn notebooks(state: &Path) -> Builder {
    let config = format!(
        "[server]\nstate_dir = {:?}\n[plugins.notes.grants]\nkv = true\n[plugins.other.grants]\nkv = true\n",
        state.display().to_string()
    );
    let other = std::fs::read(plugin("notes")).unwrap();
    let builder = Server::builder().guest("polite").plugin("notes").file("other.wasm", &other);
    // Reaching the limit that is set later is an error and not the end.
    builder.config(&config).shell_first("trap '' XFSZ")
}

/// Whether a note of this title was written. If not, the full disk must be the reason.
async fn writes(client: &Client, plugin: &str, title: &str) -> bool {
    let note = json!({ "title": title, "text": "x".repeat(60_000) });
    let reply = client.call(&format!("{plugin}-write_note"), note).await;
    let written = reply.result()["isError"] != true;
    assert!(written || reply.tool_error().contains("the server's disk takes no writes"), "{reply:?}");
    written
}

/// Writes notes until one fails, and returns how many did not.
async fn fill(client: &Client, plugin: &str, title: &str) -> u64 {
    for number in 0..100 {
        if !writes(client, plugin, &format!("{title} {number}")).await {
            return number;
        }
    }
    panic!("there always was room");
}

/// How many notes each notebook has.
async fn counts(client: &Client) -> [u64; 2] {
    let mut counts = [0; 2];
    for (plugin, count) in ["notes", "other"].iter().zip(&mut counts) {
        let reply = client.call(&format!("{plugin}-find_notes"), json!({})).await;
        let total = reply.result()["structuredContent"]["total"].as_u64();
        *count = total.unwrap_or_else(|| panic!("{reply:?}"));
    }
    counts
}

/// On a full disk a write is an error of the writing call. All plugins can still read stored values, and so can the
/// next server.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_notes_can_be_read_and_not_written() {
    let state = tempfile::tempdir().unwrap();
    let server = notebooks(state.path()).start().await;
    let client = Client::new(server.url());
    wait_for_log_times(&server, "published ", 3).await;
    assert!(writes(&client, "other", "Kept").await, "{}", server.log());
    let database = state.path().join("plugins.redb");
    limit(&server, Some(database.metadata().unwrap().len() + (64 << 10))).await;
    let neighbour_loop = Neighbour::new(server.url()).start_loop();
    let mut written = [fill(&client, "notes", "First").await, 1];
    for round in 0..10 {
        assert_eq!(counts(&client).await, written, "round {round}: {}", server.log());
        written[1] += fill(&client, "other", &format!("Round {round}")).await;
    }
    let waits = neighbour_loop.end().await;
    assert!(waits.percentile(99) < MAX_NEIGHBOUR_WAIT, "{waits:?}");
    let told = server.log();
    let times = |warning: &str| told.matches(warning).count();
    // A note may have used the space of a deleted one.
    assert_eq!(times("takes no writes, so plugins can"), 1 + times("is writable again"), "{told}");
    limit(&server, None).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while !writes(&client, "notes", "Again").await {
        assert!(Instant::now() < deadline, "there is room again, and nothing is written: {}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    written[0] += 1;
    server.wait_for_log("the key-value database is writable again").await;
    assert_eq!(server.terminate().await, Some(0));
    let server = notebooks(state.path()).start().await;
    wait_for_log_times(&server, "published ", 3).await;
    assert_eq!(counts(&Client::new(server.url())).await, written);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_calls_stay_plain_calls_and_a_running_task_loses_nothing() {
    let config = "[limits]\ntask_after_ms = 200\n";
    let builder = Server::builder().guest("polite").config(config).shell_first("trap '' XFSZ");
    let server = builder.start().await;
    let client = TaskClient::new(Client::new(server.url()));
    let id = client.start("polite-nap", json!({ "ms": 1_000 })).await;
    limit(&server, Some(0)).await;
    let plain = client.call("polite-nap", json!({ "ms": 500 })).await;
    assert_eq!((plain.tool_text(), &plain.result()["resultType"]), ("rested", &json!("complete")));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(client.get(&id).await["status"], "working");
    limit(&server, None).await;
    let done = client.wait_for(&id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "rested");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_the_results_of_an_earlier_server_can_be_read() {
    let state = tempfile::tempdir().unwrap();
    let server = notebooks(state.path()).start().await;
    let client = TaskClient::new(Client::new(server.url()));
    let id = client.start("polite-nap", json!({ "ms": 2_500 })).await;
    let before = client.wait_for(&id, "completed").await;
    assert_eq!(server.terminate().await, Some(0));
    let server = notebooks(state.path()).start().await;
    let database = state.path().join("plugins.redb");
    limit(&server, Some(database.metadata().unwrap().len())).await;
    let (client, plain) = (TaskClient::new(Client::new(server.url())), Client::new(server.url()));
    wait_for_log_times(&server, "published ", 3).await;
    for round in 0..3 {
        // From a failed write on, nobody may write for a second.
        fill(&plain, "notes", &format!("Round {round}")).await;
        assert_eq!(client.get(&id).await, before, "round {round}: {}", server.log());
        let unknown = client.request("tasks/get", json!({ "taskId": "A".repeat(43) })).await;
        assert_eq!(unknown.error_code(), -32602, "{unknown:?}");
    }
}
