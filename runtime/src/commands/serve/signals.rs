//! Signals to the server: to stop, and to read the folder and the configuration again.
//!
//! SIGHUP means both. A terminal that closes sends it, and then the server stops like every other program; sent by a
//! person or a supervisor, SIGHUP asks the server to read its files again.

use std::io::IsTerminal as _;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

/// Waits for Ctrl-C, SIGTERM and SIGHUP, and for the end of stdin if that counts. Made before anything is served, so
/// that no signal is missed.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    stdin: Option<Stdin>,
    /// Whether stderr was a terminal at the start.
    terminal: bool,
    /// Makes the folder watcher read everything again; set once there is one.
    rescan: Option<Arc<Notify>>,
}

impl Signals {
    pub(super) fn listen(until_eof: bool) -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            stdin: until_eof.then(tokio::io::stdin),
            terminal: std::io::stderr().is_terminal(),
            rescan: None,
        })
    }

    /// From now on SIGHUP notifies `rescan`.
    pub(super) fn reload(&mut self, rescan: Arc<Notify>) {
        self.rescan = Some(rescan);
    }

    /// Waits for a reason to stop.
    pub(super) async fn stopped(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                () = stdin_closed(&mut self.stdin) => return,
                _ = self.hangup.recv() => {
                    // A closed terminal is no longer a terminal.
                    if self.terminal && !std::io::stderr().is_terminal() {
                        return;
                    }
                    if let Some(rescan) = &self.rescan {
                        rescan.notify_one();
                    }
                }
            }
        }
    }
}

/// Waits for the end of stdin, which is reported once.
async fn stdin_closed(stdin: &mut Option<Stdin>) {
    let Some(open) = stdin else { return std::future::pending().await };
    // Input is read and ignored; only the end counts.
    while matches!(open.read(&mut [0; 64]).await, Ok(1..)) {}
    *stdin = None;
}
