//! A busy server is killed at random moments, again and again: each next start serves the same within seconds, and no
//! confirmed write is lost.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use plugport_tests::build::state_folder;
use plugport_tests::containment::Neighbour;
use plugport_tests::guests::{copy, folder, plugin};
use plugport_tests::hostile_files::seeded;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::raw_server::RawServer;
use plugport_tests::reload::{install_guest, tool_names};
use plugport_tests::server::{program, whole_machine};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// The maximum time from the start of a process to its first list, with cached code.
const START: Duration = Duration::from_secs(2);

/// The longest life of a server, ms.
const LIFE: usize = 1_500;

/// No rate limits, since all callers call as fast as they can.
const CONFIG: &str = "[server]\napproval = \"warn\"\ncaller_calls_per_second = 1_000_000_000\n\
                      [limits]\ntool_calls_per_second = 1_000_000_000\n[plugins.notes.grants]\nkv = true\n";

/// The note with the counter.
const COUNTER: &str = "notes:///counter";

/// C5, at length: run with `--ignored`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: two hundred lives of a server take about ten minutes"]
async fn soak_a_server_killed_at_two_hundred_moments_serves_the_same_each_time() {
    assert_survives(200, 5).await;
}

/// C5, for every day.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_while_it_is_busy_serves_the_same_the_next_time() {
    assert_survives(12, 6).await;
}

/// The expected state that must survive the servers.
struct Home {
    folder: TempDir,
    /// The last number that was sent, and the last one whose write was confirmed.
    sent: AtomicU64,
    written: AtomicU64,
    /// How often another build was installed.
    swaps: AtomicU64,
}

async fn assert_survives(times: usize, seed: u64) {
    let _machine = whole_machine().await;
    let home = Arc::new(Home {
        folder: folder(&["polite"]),
        sent: AtomicU64::default(),
        written: AtomicU64::default(),
        swaps: AtomicU64::default(),
    });
    let listed = home.short_runs().await;
    let mut random = seeded(seed);
    let mut slowest = Duration::ZERO;
    for _ in 0..times {
        let begun = Instant::now();
        let mut server = RawServer::start(home.path(), CONFIG);
        // Some servers are killed before they serve.
        if random(4) == 0 {
            tokio::time::sleep(Duration::from_millis(random(200) as u64)).await;
            server.child.kill().await.unwrap();
            continue;
        }
        let client = Client::new(server.url().await);
        assert_eq!(tool_names(&client).await, listed, "{}", server.log());
        slowest = slowest.max(begun.elapsed());
        home.assert_intact(&server, &client).await;
        home.run_for(&mut server, Duration::from_millis(random(LIFE) as u64)).await;
    }
    println!(
        "{times} kills; the slowest start took {slowest:?}, {} notes",
        home.written.load(Ordering::SeqCst)
    );
    assert!(slowest < START, "a start took {slowest:?} to its first list");
    home.assert_approvable().await;
    let server = RawServer::start(home.path(), CONFIG);
    let client = Client::new(server.url().await);
    assert_eq!(tool_names(&client).await, listed);
    home.assert_intact(&server, &client).await;
}

impl Home {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Runs servers without load, which compile every build; returns the last one's list.
    async fn short_runs(&self) -> Vec<String> {
        copy(&plugin("notes"), self.path());
        let mut listed = Vec::new();
        for build in ["version_b", "version_a"] {
            install_guest(build, self.path(), "v.wasm");
            let mut server = RawServer::start(self.path(), CONFIG);
            for name in ["notes", "polite", "v"] {
                server.wait_for_log(&format!("published {name}: ")).await;
            }
            let url = server.url().await;
            self.write(&Neighbour::new(url.clone()), 0).await.unwrap();
            listed = tool_names(&Client::new(url)).await;
            server.child.kill().await.unwrap();
        }
        listed
    }

    /// Does everything at once for a while, then kills the server.
    async fn run_for(self: &Arc<Self>, server: &mut RawServer, life: Duration) {
        let neighbour = Neighbour::new(server.url().await);
        let over = Arc::new(AtomicBool::default());
        let mut busy = JoinSet::new();
        for _ in 0..4 {
            busy.spawn(call_until(neighbour.clone(), Arc::clone(&over)));
        }
        busy.spawn(Arc::clone(self).write_until(neighbour, Arc::clone(&over)));
        busy.spawn(Arc::clone(self).swap_until(Arc::clone(&over)));
        let mut approving = self.approve();
        tokio::time::sleep(life).await;
        server.child.kill().await.unwrap();
        approving.kill().await.unwrap();
        over.store(true, Ordering::Relaxed);
        // All responses before the kill were right.
        while let Some(ended) = busy.join_next().await {
            ended.unwrap();
        }
    }

    /// Approves the files in the folder.
    fn approve(&self) -> Child {
        let mut command = Command::from(program());
        command.args(["approve", "--yes", "--plugins"]).arg(self.path());
        command.arg("--config").arg(self.file("plugport.toml"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().unwrap()
    }

    /// The lockfile is complete: it can be read and written again.
    async fn assert_approvable(&self) {
        let approved =
            tokio::time::timeout(Duration::from_secs(100), self.approve().wait_with_output()).await;
        let approved = approved.expect("approving ends").unwrap();
        assert!(approved.status.success(), "{approved:?}");
    }

    async fn write(&self, neighbour: &Neighbour, number: u64) -> reqwest::Result<()> {
        let arguments = json!({ "title": "Counter", "text": number.to_string() });
        let (_, response) = neighbour.try_call("notes-write_note", &arguments).await?;
        assert_eq!(response["result"]["structuredContent"]["uri"], COUNTER, "{response}");
        Ok(())
    }

    async fn write_until(self: Arc<Self>, neighbour: Neighbour, over: Arc<AtomicBool>) {
        while !over.load(Ordering::Relaxed) {
            let number = self.sent.fetch_add(1, Ordering::SeqCst) + 1;
            if self.write(&neighbour, number).await.is_err() {
                return;
            }
            self.written.store(number, Ordering::SeqCst);
        }
    }

    async fn swap_until(self: Arc<Self>, over: Arc<AtomicBool>) {
        while !over.load(Ordering::Relaxed) {
            let number = self.swaps.fetch_add(1, Ordering::Relaxed);
            install_guest(["version_b", "version_a"][usize::from(number % 2 == 1)], self.path(), "v.wasm");
            tokio::time::sleep(Duration::from_millis(130)).await;
        }
    }

    /// Checks the state that the last server left.
    async fn assert_intact(&self, server: &RawServer, client: &Client) {
        // Every confirmed write is there; an unconfirmed one may be.
        let read = client.session(LEGACY).await.request("resources/read", json!({ "uri": COUNTER })).await;
        let text = read.result()["contents"][0]["text"].as_str().unwrap_or_default();
        let number: u64 = text.parse().unwrap_or_else(|error| panic!("{error} in {read:?}"));
        let (written, sent) = (self.written.load(Ordering::SeqCst), self.sent.load(Ordering::SeqCst));
        assert!((written..=sent).contains(&number), "{number} was kept, {written} to {sent} were written");
        // The server has removed the partial line of the killed one.
        for (at, line) in self.audit().lines().enumerate() {
            let parsed = serde_json::from_str::<Value>(line);
            assert!(parsed.is_ok_and(|line| line["event"].is_string()), "line {at} of the audit is {line:?}");
        }
        let said = server.log();
        for damage in ["failed its MAC check", "rejected ", "cannot store anything", "code cache"] {
            assert!(!said.contains(damage), "{said}");
        }
        // Some approvals succeed and others are killed; the lockfile is complete or missing.
        if let Ok(lock) = std::fs::read_to_string(self.file("plugport.lock")) {
            let parsed = lock.parse::<toml::Table>();
            assert!(parsed.is_ok(), "{parsed:?} in {lock}");
        }
    }

    /// The whole audit. Servers append to it, so the last line may not have its end yet.
    fn audit(&self) -> String {
        let mut text = std::fs::read_to_string(state_folder(self.path()).join("audit.jsonl")).unwrap();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    }
}

/// Calls until the server has ended. Until then every response must be right.
async fn call_until(neighbour: Neighbour, over: Arc<AtomicBool>) {
    while !over.load(Ordering::Relaxed) {
        let Ok((_, response)) = neighbour.try_call("v-version", &json!({})).await else { return };
        let text = response["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(matches!(text, "a" | "b"), "{response}");
    }
}
