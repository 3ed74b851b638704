//! `plugport dev`: what is saved is built and served, what cannot be built changes nothing, and nothing is left behind.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plugport_tests::guests::guest;
use plugport_tests::http::Client;
use plugport_tests::server::binary;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// An unoptimised build compiles every component anew.
const PATIENCE: Duration = Duration::from_secs(120);

/// A project called `versions`, whose source says which guest its build makes, and the loop that serves it.
struct Dev {
    child: Child,
    said: Arc<Mutex<String>>,
    dir: TempDir,
}

/// A build that does what its source says.
const BUILD: &str = "case $(cat source.txt) in a|b) ;; *) echo 'this is no version' >&2; exit 3;; esac\n\
                     mkdir -p out && cp ../version_$(cat source.txt).wasm out/plugin.wasm\n";

impl Dev {
    fn start(source: &str, build: &str, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("versions")).unwrap();
        for version in ["version_a", "version_b"] {
            let file = dir.path().join(version).with_extension("wasm");
            std::fs::copy(guest(version), file).unwrap();
        }
        let mut command = Command::new(binary());
        command.args(["dev", "versions", "--listen", "127.0.0.1:0"]).args(args).current_dir(dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let said = Arc::new(Mutex::new(String::new()));
        std::fs::write(dir.path().join("versions/source.txt"), source).unwrap();
        std::fs::write(dir.path().join("versions/build.sh"), build).unwrap();
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let hearing = Arc::clone(&said);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let mut said = hearing.lock().unwrap();
                said.push_str(&line);
                said.push('\n');
            }
        });
        Self { child, said, dir }
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("versions")
    }

    fn save(&self, source: &str) {
        std::fs::write(self.project().join("source.txt"), source).unwrap();
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    fn times(&self, text: &str) -> usize {
        self.said().matches(text).count()
    }

    /// Waits until `text` was printed so many times.
    async fn says(&self, text: &str, times: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.times(text) < times {
            assert!(Instant::now() < deadline, "it never said {text:?}; it said:\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn client(&self) -> Client {
        self.says("serving MCP at http", 1).await;
        let said = self.said();
        let url = said.split("serving MCP at ").nth(1).unwrap().lines().next().unwrap();
        Client::new(url)
    }

    fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Its server.
    fn server(&self) -> u32 {
        let stats = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?;
            Some((stat.split(' ').next()?.parse::<u32>().ok()?, parent))
        });
        let children: Vec<_> =
            stats.filter(|(_, parent)| *parent == self.pid()).map(|(pid, _)| pid).collect();
        assert_eq!(children.len(), 1, "{children:?}");
        children[0]
    }

    /// Asks it to stop, and waits; its exit code.
    async fn terminate(mut self) -> Option<i32> {
        send("-TERM", self.pid()).await;
        let ended = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        ended.unwrap().unwrap().code()
    }
}

async fn send(signal: &str, pid: u32) {
    Command::new("kill").args([signal, &pid.to_string()]).status().await.unwrap();
}

/// Whether a process runs; one that is dead and not yet buried does not.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z"))
}

async fn gone(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while runs(pid) {
        assert!(Instant::now() < deadline, "process {pid} still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn answers(client: &Client, expected: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reply = client.call("versions-version", json!({})).await;
        let answer = reply.answer().get("result").and_then(|result| result["content"][0]["text"].as_str());
        if answer == Some(expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{expected:?} was expected: {reply:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_is_built_and_served() {
    let dev = Dev::start("a", BUILD, &["--build", "sh build.sh"]);
    let client = dev.client().await;
    dev.says("published versions: versions-version", 1).await;
    answers(&client, "a").await;
    dev.says("tools/call version  ok  ", 1).await;
    let line = dev.said().lines().find(|line| line.starts_with("tools/call version  ok")).unwrap().to_owned();
    assert!(line.contains(" ms  ") && line.ends_with(" fuel"), "{line}");
    dev.save("b");
    dev.says("changed: source.txt; building", 1).await;
    answers(&client, "b").await;
    dev.save("c");
    dev.says("this is no version", 1).await;
    dev.says("; the version before it is still served\n  it ended with exit status: 3", 1).await;
    answers(&client, "b").await;
    dev.save("a");
    answers(&client, "a").await;
    let server = dev.server().to_string();
    assert!(runs(&server));
    assert_eq!(std::fs::read_to_string(dev.project().join(".plugport-dev/.gitignore")).unwrap(), "*\n");
    assert_eq!(dev.terminate().await, Some(0));
    gone(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_build_that_fails_waits_for_the_next() {
    let dev = Dev::start("c", BUILD, &["--build", "sh build.sh", "--output", "out/plugin.wasm"]);
    let client = dev.client().await;
    dev.says("nothing is served yet", 1).await;
    dev.save("b");
    answers(&client, "b").await;
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_is_ended_when_it_is_out_of_date() {
    let slow = format!("test $(cat source.txt) = slow && {{ echo $$ > .pid; sleep 600; }}\n{BUILD}");
    let dev = Dev::start("slow", &slow, &["--build", "sh build.sh"]);
    let client = dev.client().await;
    let file = dev.project().join(".pid");
    let deadline = Instant::now() + PATIENCE;
    while !std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(Instant::now() < deadline, "the build never began:\n{}", dev.said());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    dev.save("a");
    answers(&client, "a").await;
    gone(&std::fs::read_to_string(&file).unwrap()).await;
    // The same when everything ends.
    std::fs::remove_file(&file).unwrap();
    dev.save("slow");
    while !std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(Instant::now() < deadline, "the build never began:\n{}", dev.said());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let building = std::fs::read_to_string(&file).unwrap();
    assert_eq!(dev.terminate().await, Some(0));
    gone(&building).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_writes_among_the_sources_does_not_trigger_itself() {
    let writes = format!("date +%N > generated.txt\nmkdir -p old; date +%N >> old/$$.txt\n{BUILD}");
    let dev = Dev::start("a", &writes, &["--build", "sh build.sh"]);
    dev.says("built in ", 1).await;
    dev.save("b");
    dev.says("built in ", 2).await;
    // Longer than the sources are left unseen.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(dev.times("built in ") <= 3, "{}", dev.said());
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_ends_it() {
    let mut dev = Dev::start("a", BUILD, &["--build", "sh build.sh"]);
    dev.says("built in ", 1).await;
    send("-KILL", dev.server()).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), dev.child.wait()).await;
    assert_eq!(ended.expect("it ends").unwrap().code(), Some(1));
    dev.says("the server has ended", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_nobody_can_build_is_told_what_to_write() {
    let mut dev = Dev::start("a", BUILD, &[]);
    dev.says("the command that builds it with --build", 1).await;
    assert_eq!(dev.child.wait().await.unwrap().code(), Some(2));
}
