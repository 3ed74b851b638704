//! The signals that end the development loop or a build: SIGINT, SIGTERM and SIGHUP. SIGHUP counts since the loop's
//! children are in process groups of their own and would outlive the terminal.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the signals. Made before anything is started, so that none is missed.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for one of the signals. Can be dropped.
    pub(crate) async fn stopped(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
