//! The server of a project: this very program as a child, told where to look. What is served while a plugin is written
//! is so what will be served later, and a reload here is a reload there.
//!
//! It ends with this process, also with one that is killed and can ask nobody any more: the system closes a pipe then,
//! and the server stops when its stdin ends.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::workdir::Workdir;
use crate::child_output::{print_line, read_lines};
use crate::server_access::ServerAccess;
use crate::signals::Signals;

/// What a server that is told to end has left; it gives its calls five seconds.
const END: Duration = Duration::from_secs(10);

/// For how long its last words are waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The server. Killed when dropped.
pub(super) struct ServerProcess {
    child: Child,
    /// The other end of its stdin. Not left with the child, whose stdin is closed when its end is waited for.
    _held: ChildStdin,
    hearing: JoinHandle<()>,
}

impl ServerProcess {
    pub(super) fn start(
        workdir: &Workdir,
        config: Option<&Path>,
        listen: Option<&str>,
        log: &str,
        access: &'static dyn ServerAccess,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        // Whoever writes a plugin wants to see what it logs.
        let log = format!("plugin=debug,{log}");
        command.args(["--log", &log, "serve", "--until-eof", "--plugins"]).arg(&workdir.plugins);
        if let Some(file) = config {
            command.arg("--config").arg(file);
        }
        if let Some(address) = listen {
            command.args(["--listen", address]);
        }
        // Without a configuration, what is approved is noted where it is started.
        command.current_dir(&workdir.folder);
        // An interrupt from the terminal is for this process, which passes it on when everything else has ended.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let held = child.stdin.take().ok_or_else(|| anyhow!("the server cannot be held"))?;
        let stderr = child.stderr.take().ok_or_else(|| anyhow!("the server cannot be heard"))?;
        let pass_on = move |line: &str| {
            // It would send the author to a folder that is not theirs; what a build comes to is said here.
            if !access.is_nothing_published(line) {
                print_line(line);
            }
        };
        Ok(Self { child, _held: held, hearing: tokio::spawn(read_lines(stderr, pass_on)) })
    }

    /// Waits until it ends by itself. Can be dropped.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it, and kills it when it takes too long or when a person asks meanwhile; whether
    /// one has asked.
    pub(super) async fn stop(mut self, signals: &mut Signals) -> bool {
        self.terminate();
        let interrupted = tokio::select! {
            _ = timeout(END, self.child.wait()) => false,
            () = signals.stopped() => true,
        };
        // One that has ended is left alone by this.
        let _ = self.child.kill().await;
        if timeout(LAST_WORDS, &mut self.hearing).await.is_err() {
            self.hearing.abort();
            let _ = self.hearing.await;
        }
        interrupted
    }

    /// Asks it to end.
    fn terminate(&self) {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        // One that has ended cannot be asked, and need not be.
        let _ = id.map(|id| kill_process(id, Signal::TERM));
    }
}
