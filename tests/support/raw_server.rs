//! The real binary, observed from its first moment and killed at any time; [`crate::server`] waits until it serves.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::build::{program, unshared_xdg_homes};
use crate::containment::children;

/// The maximum wait: an unoptimised build compiles every component.
const TIMEOUT: Duration = Duration::from_secs(100);

/// A server that may be killed while it starts. Its configuration, its state and its compiled code are in its plugin
/// folder.
pub struct RawServer {
    pub child: Child,
    said: Arc<Mutex<String>>,
}

impl RawServer {
    pub fn start(plugins: &Path, config: &str) -> Self {
        let file = plugins.join("plugport.toml");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::from(program());
        command.args(["serve", "--listen", "127.0.0.1:0", "--plugins"]).arg(plugins);
        command.arg("--config").arg(file).envs(unshared_xdg_homes(plugins));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let hears = Arc::clone(&said);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                *hears.lock().unwrap() += &(line + "\n");
            }
        });
        Self { child, said }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until `text` was printed.
    pub async fn wait_for_log(&self, text: &str) {
        let begun = Instant::now();
        while !self.log().contains(text) {
            assert!(begun.elapsed() < TIMEOUT, "the server never said {text:?}; it said:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The URL where it serves MCP, once it serves.
    pub fn served_url(&self) -> Option<String> {
        self.log().lines().find_map(|line| line.strip_prefix("serving MCP at ").map(str::to_owned))
    }

    /// Waits until it serves, and returns the URL.
    pub async fn url(&self) -> String {
        self.wait_for_log("serving MCP at ").await;
        self.served_url().unwrap()
    }

    /// Waits until it compiles, and returns the compiler processes.
    pub async fn wait_for_compiler(&self) -> Vec<u32> {
        let pid = self.pid();
        wait_until("a compiler runs", || !children(pid).is_empty()).await;
        children(pid)
    }

    pub async fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
    }
}

/// Waits for a condition.
pub async fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < TIMEOUT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process runs; a zombie does not.
pub fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}
