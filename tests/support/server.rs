//! The real binary, serving on a port that the system chose. Killed when dropped.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::build::{self, shared_cache_home, shared_state_home, unshared_xdg_homes, xdg_homes};
pub use crate::build::{binary, program};
pub use crate::guests::folder;
use crate::guests::{copy, guest, plugin};

/// The maximum time of a start: an unoptimised build compiles every component.
const START: Duration = Duration::from_secs(300);

/// Servers share the machine: what others add to the wait of a neighbour is far below its maximum. A server whose
/// speed is measured has the machine to itself. Nothing that holds a server may wait for another one: the semaphore is
/// fair, so if a third waits for the whole machine between the two starts, neither goes on. Tasks of one test may each
/// have one. Servers that are started without this module do not count.
static MACHINE: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(SERVERS as usize)));

/// How long a server may wait for its turn. Only a deadlock takes so long: the longest tests keep a server for minutes.
const TURN: Duration = Duration::from_secs(1_800);

/// How many servers run at once, unless one has the machine to itself.
const SERVERS: u32 = 6;

/// A running server.
pub struct Server {
    share: Option<OwnedSemaphorePermit>,
    child: Child,
    url: String,
    said: Arc<Mutex<String>>,
    folder: TempDir,
    start: Duration,
}

/// How to start one.
pub struct Builder {
    folder: TempDir,
    plugins: Option<PathBuf>,
    config: Option<String>,
    listen: &'static str,
    env: Vec<(String, String)>,
    shell: Option<String>,
    log: Option<String>,
    alone: bool,
    cold: bool,
    quick: bool,
}

impl Server {
    pub fn builder() -> Builder {
        Builder {
            folder: tempfile::tempdir().unwrap(),
            plugins: None,
            config: None,
            listen: "127.0.0.1:0",
            env: Vec::new(),
            shell: None,
            log: None,
            alone: false,
            cold: false,
            quick: false,
        }
    }

    /// Waits until no other test uses its server, and lets none start one, so that they do not disturb a measurement.
    pub async fn take_machine(&mut self) {
        // While it waits, another server may have the machine. This one runs on, without calls.
        self.release_machine();
        self.share = Some(whole_machine().await);
    }

    /// Lets other servers run, because the measurements that they would disturb are done.
    pub fn release_machine(&mut self) {
        drop(self.share.take());
    }

    /// The time from its start until it served.
    pub fn start(&self) -> Duration {
        self.start
    }

    /// Its URL.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Its plugins folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of key-value data and the audit.
    pub fn state(&self) -> PathBuf {
        build::state_folder(self.folder.path())
    }

    /// The lines of its audit so far.
    pub fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state().join("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of the audit is JSON")).collect()
    }

    /// Waits until the audit has `count` lines with this event, and returns them.
    pub async fn wait_for_audit(&self, event: &str, count: usize) -> Vec<Value> {
        self.wait_for_audit_lines(|line| line["event"] == event, count).await
    }

    /// The same for lines for which `is_meant` is true.
    pub async fn wait_for_audit_lines(&self, is_meant: impl Fn(&Value) -> bool, count: usize) -> Vec<Value> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        loop {
            let mut lines = self.audit();
            lines.retain(&is_meant);
            if lines.len() >= count {
                return lines;
            }
            assert!(tokio::time::Instant::now() < deadline, "not {count} of them in {:?}", self.audit());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the server is running")
    }

    /// Resident memory, bytes.
    pub fn rss(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    /// Open file descriptors.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Waits until `text` was printed.
    pub async fn wait_for_log(&self, text: &str) {
        let waiting = async {
            while !self.log().contains(text) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        assert!(waited.is_ok(), "the server never said {text:?}; it said:\n{}", self.log());
    }

    /// Sends SIGTERM, waits, and returns the exit code.
    pub async fn terminate(self) -> Option<i32> {
        self.signal("-TERM").await;
        self.wait_for_exit().await
    }

    /// Sends a signal by its name for `kill`.
    pub async fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
    }

    /// Waits for its end and returns the exit code.
    pub async fn wait_for_exit(mut self) -> Option<i32> {
        let ended = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        ended.expect("the server stops").unwrap().code()
    }
}

impl Builder {
    /// Puts a guest of `tests/guests` into the folder.
    pub fn guest(self, name: &str) -> Self {
        copy(&guest(name), self.folder.path());
        self
    }

    /// Puts a plugin of `plugins` into the folder.
    pub fn plugin(self, name: &str) -> Self {
        copy(&plugin(name), self.folder.path());
        self
    }

    /// Puts a file of these bytes into the folder.
    pub fn file(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
        self
    }

    /// With this plugin folder.
    pub fn plugins(self, folder: &Path) -> Self {
        Self { plugins: Some(folder.to_owned()), ..self }
    }

    /// With this `plugport.toml`.
    pub fn config(mut self, text: &str) -> Self {
        self.config = Some(text.to_owned());
        self
    }

    /// Listening here.
    pub fn listen(self, listen: &'static str) -> Self {
        Self { listen, ..self }
    }

    /// Its plugin folder, for entries that are not regular files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// With this variable in its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Started by a shell that runs this command first and then the server.
    pub fn shell_first(self, shell: &str) -> Self {
        Self { shell: Some(shell.to_owned()), ..self }
    }

    /// With this filter for its log.
    pub fn log(self, filter: &str) -> Self {
        Self { log: Some(filter.to_owned()), ..self }
    }

    /// Without other servers on the machine as soon as it serves, for measurements.
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// With an empty code cache of its own.
    pub fn without_cache(self) -> Self {
        Self { cold: true, ..self }
    }

    /// Compiles quickly, as for `plugport dev`: an interpreter takes long, and its machine code is not what is tested.
    pub fn quickly_compiled(self) -> Self {
        Self { quick: true, ..self }
    }

    pub async fn start(self) -> Server {
        let share = machine(1).await;
        let mut command = match &self.shell {
            Some(shell) => shell_command(shell),
            None => program().into(),
        };
        if let Some(filter) = &self.log {
            command.args(["--log", filter]);
        }
        command.args(["serve", "--listen", self.listen, "--plugins"]);
        command.arg(self.plugins.as_deref().unwrap_or(self.folder.path()));
        if self.quick {
            command.args(["--until-eof", "--dev-quick"]);
        }
        command.current_dir(self.folder.path()).envs(self.homes());
        if let Some(text) = &self.config {
            let file: PathBuf = self.folder.path().join("plugport.toml");
            std::fs::write(&file, text).unwrap();
            command.arg("--config").arg(file);
        }
        command.envs(self.env);
        // A server with `--until-eof` ends with its stdin, which ends with the child.
        command.stdin(if self.quick { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (send_url, url) = oneshot::channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        tokio::spawn(listen(stderr, Arc::clone(&said), send_url));
        let url = tokio::time::timeout(START, url).await.expect("the server starts in time");
        let url = url.unwrap_or_else(|_| panic!("the server did not start:\n{}", said.lock().unwrap()));
        let start = begun.elapsed();
        let mut server = Server { share: Some(share), child, url, said, folder: self.folder, start };
        if self.alone {
            server.take_machine().await;
        }
        server
    }

    fn homes(&self) -> [(&'static str, PathBuf); 2] {
        let folder = self.folder.path();
        if self.cold { unshared_xdg_homes(folder) } else { xdg_homes(folder) }
    }
}

/// The machine without any server of this module, until the permit is dropped.
pub async fn whole_machine() -> OwnedSemaphorePermit {
    machine(SERVERS).await
}

async fn machine(servers: u32) -> OwnedSemaphorePermit {
    let permit = Arc::clone(&MACHINE).acquire_many_owned(servers);
    let permit = tokio::time::timeout(TURN, permit).await;
    permit
        .expect("a turn comes, unless a test holds a server while it starts another, or one hangs")
        .expect("the semaphore is never closed")
}

/// The program, started by a shell that runs a command first.
pub fn shell_command(shell: &str) -> Command {
    let mut command = Command::new("sh");
    command.env("XDG_CACHE_HOME", shared_cache_home()).env("XDG_STATE_HOME", shared_state_home());
    command.arg("-c").arg(format!("{shell}; exec \"$0\" \"$@\"")).arg(binary());
    command
}

async fn listen(
    stderr: BufReader<tokio::process::ChildStderr>,
    said: Arc<Mutex<String>>,
    url: oneshot::Sender<String>,
) {
    let (mut url, mut address, mut loaded) = (Some(url), None, false);
    let mut lines = stderr.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(found) = line.strip_prefix("serving MCP at ") {
            address = Some(found.to_owned());
        }
        loaded |= line.starts_with("loaded ");
        if loaded
            && let Some(address) = address.take()
            && let Some(url) = url.take()
        {
            let _ = url.send(address);
        }
        let mut said = said.lock().unwrap();
        said.push_str(&line);
        said.push('\n');
    }
}
