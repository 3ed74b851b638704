//! The server of a project: this program as a child. So what is served during development is what will be served later,
//! and reloads are the same.
//!
//! The server ends with this process, even if this process is killed: the system then closes the pipe to the server's
//! stdin, and the server stops.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::project::Project;
use super::server_config::DevServerConfig;
use super::workdir::Workdir;
use crate::child_output::{print_line, read_lines};
use crate::server_access::ServerAccess;
use crate::signals::Signals;

/// How long the server may take to end after SIGTERM; it gives its calls five seconds.
const TERM_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of its output is waited for.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// The running server; killed when dropped.
pub(super) struct ServerProcess {
    child: Child,
    /// The other end of its stdin. Not kept in `child`, since `Child::wait` closes that.
    _stdin: ChildStdin,
    output: JoinHandle<()>,
}

impl ServerProcess {
    pub(super) fn start(
        project: &Project,
        workdir: &Workdir,
        settings: &DevServerConfig,
        listen: Option<&str>,
        log: &str,
        access: &'static dyn ServerAccess,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        // Authors want to see what their plugin logs.
        let log = format!("plugin=debug,{log}");
        command.args(["--log", &log, "serve", "--until-eof", "--plugins"]).arg(&workdir.plugins);
        if settings.loads_sources() {
            command.arg("--dev-sources").arg(&workdir.sources);
        }
        if !project.is_interpreted() {
            command.arg("--dev-quick");
        }
        if let Some(file) = &settings.file {
            command.arg("--config").arg(file);
        }
        if let Some(address) = listen {
            command.args(["--listen", address]);
        }
        // Without a configuration, the lockfile is in the current folder.
        command.current_dir(&workdir.folder);
        // An interrupt from the terminal goes to this process, which stops the server last.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let stdin = child.stdin.take().ok_or_else(|| anyhow!("the server has no pipe as its stdin"))?;
        let stderr = child.stderr.take().ok_or_else(|| anyhow!("the server has no pipe as its stderr"))?;
        let pass_on = move |line: &str| {
            // Not shown: it names an internal folder, and `dev` reports builds itself.
            if !access.is_nothing_published(line) {
                print_line(line);
            }
        };
        Ok(Self { child, _stdin: stdin, output: tokio::spawn(read_lines(stderr, pass_on)) })
    }

    /// Waits until the server ends by itself. Can be dropped.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Stops the server, and kills it if that takes too long or a signal comes meanwhile. Returns whether a signal
    /// came.
    pub(super) async fn stop(mut self, signals: &mut Signals) -> bool {
        self.terminate();
        let interrupted = tokio::select! {
            _ = timeout(TERM_TIMEOUT, self.child.wait()) => false,
            () = signals.stopped() => true,
        };
        // Does nothing if the server has ended.
        let _ = self.child.kill().await;
        if timeout(OUTPUT_TIMEOUT, &mut self.output).await.is_err() {
            self.output.abort();
            let _ = self.output.await;
        }
        interrupted
    }

    /// Sends SIGTERM.
    fn terminate(&self) {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        // Errors are ignored: the server may have ended.
        let _ = id.map(|id| kill_process(id, Signal::TERM));
    }
}
