//! What a server hears from whoever runs it: to stop, and to look at everything again.
//!
//! SIGHUP means both. A terminal that is closed sends it, and then the server ends with its terminal like every other
//! program; sent by a person or a supervisor, it asks a server to read its files again.

use std::io::IsTerminal as _;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

/// Ctrl-C, termination, and the end of whoever holds stdin, if that counts. Made before anything is served, so that
/// none is missed.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    held: Option<Stdin>,
    /// Whether there was a terminal to say things to at the start.
    terminal: bool,
    /// Who looks at everything again, once there is someone.
    again: Option<Arc<Notify>>,
}

impl Signals {
    pub(super) fn listen(until_eof: bool) -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            held: until_eof.then(tokio::io::stdin),
            terminal: std::io::stderr().is_terminal(),
            again: None,
        })
    }

    /// From now on SIGHUP asks for this.
    pub(super) fn reload(&mut self, again: Arc<Notify>) {
        self.again = Some(again);
    }

    /// Waits for a reason to stop.
    pub(super) async fn stopped(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                () = stdin_closed(&mut self.held) => return,
                _ = self.hangup.recv() => {
                    // One that is closed is a terminal no more.
                    if self.terminal && !std::io::stderr().is_terminal() {
                        return;
                    }
                    if let Some(again) = &self.again {
                        again.notify_one();
                    }
                }
            }
        }
    }
}

/// Waits for the end of stdin. It comes once: who has gone does not ask twice.
async fn stdin_closed(held: &mut Option<Stdin>) {
    let Some(stdin) = held else { return std::future::pending().await };
    // Nothing is expected there but the end.
    while matches!(stdin.read(&mut [0; 64]).await, Ok(1..)) {}
    *held = None;
}
