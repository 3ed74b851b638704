//! A client of a revision with sessions: what it said at `initialize`, and what it has under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;

use super::context::SharedLevel;
use super::in_flight::InFlight;
use super::revision::Revision;
use crate::host::{ClientInfo, LogLevel};

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    pub(crate) client: ClientInfo,
    pub(crate) log_level: SharedLevel,
    pub(crate) in_flight: Arc<InFlight>,
    /// Calls that outlive the connection which began them.
    pub(crate) tasks: TaskTracker,
    begun: Instant,
    /// Milliseconds after `begun`.
    last_used: AtomicU64,
}

impl Session {
    pub(crate) fn new(revision: Revision, client: ClientInfo, requests: usize) -> Self {
        Self {
            revision,
            client,
            log_level: SharedLevel::new(LogLevel::Info),
            in_flight: InFlight::new(requests),
            tasks: TaskTracker::new(),
            begun: Instant::now(),
            last_used: AtomicU64::new(0),
        }
    }

    pub(crate) fn touch(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_used.store(now, Ordering::Relaxed);
    }

    /// For how long nothing came and nothing was being served.
    pub(crate) fn idle(&self) -> Duration {
        if !self.in_flight.is_empty() {
            return Duration::ZERO;
        }
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last_used.load(Ordering::Relaxed)))
    }
}
