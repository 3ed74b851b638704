//! A client over stdio that checks every line.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::build::{program, unshared_xdg_homes, xdg_homes};
use crate::guests::allow_long_start;
use crate::mcp_schema::Conversation;
use crate::server::shell_command;

const TIMEOUT: Duration = Duration::from_secs(120);

/// A server that serves this client alone.
pub struct StdioClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Option<ChildStderr>,
    conversation: Conversation,
}

impl StdioClient {
    pub fn start(plugins: &Path) -> Self {
        Self::with(program().into(), plugins, xdg_homes(plugins))
    }

    /// A server that is started by a shell, which runs this command first.
    pub fn start_by_shell(plugins: &Path, shell: &str) -> Self {
        Self::with(shell_command(shell), plugins, xdg_homes(plugins))
    }

    /// A server with an empty code cache.
    pub fn cold(plugins: &Path) -> Self {
        Self::with(program().into(), plugins, unshared_xdg_homes(plugins))
    }

    fn with(mut command: Command, plugins: &Path, homes: [(&'static str, PathBuf); 2]) -> Self {
        allow_long_start(plugins);
        command.args(["serve", "--stdio", "--plugins"]).arg(plugins).current_dir(plugins);
        command.envs(homes);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        Self { stdin, stdout, stderr, child, conversation: Conversation::default() }
    }

    pub async fn send(&mut self, line: &str) {
        if let Ok(message) = serde_json::from_str(line.trim_start_matches('\u{feff}')) {
            self.conversation.sent(&message);
        }
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(line.as_bytes()).await.unwrap();
        stdin.write_all(b"\n").await.unwrap();
        stdin.flush().await.unwrap();
    }

    /// The next line, which must be a message.
    pub async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(TIMEOUT, self.stdout.next_line()).await.expect("a line in time");
        let line = line.unwrap().expect("a line");
        let message = serde_json::from_str(&line);
        let message = message.unwrap_or_else(|error| panic!("{error} in a line on stdout: {line}"));
        self.conversation.received(&message);
        message
    }

    pub async fn request(&mut self, id: Value, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
    }

    pub async fn initialize(&mut self, revision: &str) -> Value {
        self.initialize_with(revision, json!({})).await
    }

    /// Initializes as a client with these capabilities.
    pub async fn initialize_with(&mut self, revision: &str, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities,
                             "clientInfo": { "name": "suite", "version": "1" } });
        self.request(json!("init"), "initialize", params).await;
        let response = self.next().await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        response
    }

    /// Stops reading the server's log.
    pub fn close_log(&mut self) {
        self.stderr = None;
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the server is running")
    }

    /// Sends the server a signal by its name for `kill`.
    pub async fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
    }

    /// Waits for its end with the input still open, and returns the exit code.
    pub async fn wait_for_exit(mut self) -> Option<i32> {
        let ended = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        ended.expect("the server stops").unwrap().code()
    }

    /// Ends the input; returns the remaining lines of stdout, all of stderr, and the exit code.
    pub async fn end(mut self) -> (Vec<String>, String, Option<i32>) {
        drop(self.stdin.take());
        let mut lines = Vec::new();
        while let Some(line) = self.stdout.next_line().await.unwrap() {
            let message = serde_json::from_str(&line);
            self.conversation.received(&message.unwrap_or_else(|error| panic!("{error} in {line}")));
            lines.push(line);
        }
        let mut said = String::new();
        if let Some(mut stderr) = self.stderr.take() {
            stderr.read_to_string(&mut said).await.unwrap();
        }
        let status = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        (lines, said, status.expect("the server ends with its input").unwrap().code())
    }
}
