//! A client of a revision with sessions: what it said at `initialize`, and what it has under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[cfg(test)]
use super::super::buffer_budget::BufferBudget;
use super::super::buffer_budget::{BufferReservation, BufferShare};
use super::super::client_requests::client_capabilities::ClientCapabilities;
use super::super::client_requests::pending_requests::PendingRequests;
use super::super::jsonrpc::{ClientResult, Notification};
use super::super::log_level::SharedLogLevel;
use super::super::request_id::RequestId;
use super::super::revision::Revision;
use super::client_roots::CachedRoots;
use super::in_flight::InFlight;
use super::subscriptions::Subscriptions;
use crate::catalog::ListDigests;
use crate::config::fixed_limits::REQUESTS_PER_SESSION;
#[cfg(test)]
use crate::host::Caller;
use crate::host::{ClientInfo, LogLevel};

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    /// How the lists looked when it began, or else when clients got them first: from then on it is told of what
    /// changes.
    pub(crate) lists: Option<ListDigests>,
    /// Whose it is.
    pub(crate) share: BufferShare,
    pub(crate) client: ClientInfo,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) log_level: SharedLogLevel,
    pub(crate) roots: CachedRoots,
    pub(crate) in_flight: Arc<InFlight>,
    /// Requests of ours to the client.
    pub(crate) pending_requests: Arc<PendingRequests>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) activity: Arc<SessionActivity>,
    /// The server's tracker of calls that outlive the connection which began them.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the session is over.
    pub(crate) ended: CancellationToken,
    /// Cancelled when the server is to end.
    pub(crate) stopping: CancellationToken,
    /// Connections that wait for whatever comes.
    attached: AtomicUsize,
}

/// When a client was last heard of.
#[derive(Debug)]
pub(crate) struct SessionActivity {
    begun: Instant,
    /// Milliseconds after `begun`.
    last: AtomicU64,
    times: AtomicU64,
}

impl SessionActivity {
    fn new() -> Self {
        Self { begun: Instant::now(), last: AtomicU64::new(0), times: AtomicU64::new(0) }
    }

    fn record(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }

    /// How often the client was heard of. Another number later means that it was heard of in between.
    pub(crate) fn times(&self) -> u64 {
        self.times.load(Ordering::Relaxed)
    }
}

/// A connection that waits for whatever comes, for as long as this lives.
#[derive(Debug)]
pub(crate) struct AttachedConnection(Arc<Session>);

impl Session {
    /// A session that begins. What it keeps is kept for its caller; `tasks` and `stopping` are the server's.
    pub(crate) fn new(
        share: BufferShare,
        revision: Revision,
        (client, capabilities): (ClientInfo, ClientCapabilities),
        lists: Option<ListDigests>,
        tasks: TaskTracker,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            revision,
            lists,
            client,
            capabilities,
            log_level: SharedLogLevel::new(LogLevel::Info),
            roots: CachedRoots::default(),
            in_flight: InFlight::new(REQUESTS_PER_SESSION, share.clone()),
            pending_requests: Arc::default(),
            subscriptions: Arc::new(Subscriptions::new(share.clone())),
            activity: Arc::new(SessionActivity::new()),
            share,
            tasks,
            ended: CancellationToken::new(),
            stopping,
            attached: AtomicUsize::new(0),
        }
    }

    pub(crate) fn touch(&self) {
        self.activity.record();
    }

    /// Acts on a notification from its client.
    pub(crate) fn handle_notification(&self, notification: &Notification) {
        self.in_flight.handle_notification(notification);
        if notification.method == "notifications/roots/list_changed" {
            self.roots.forget();
        }
    }

    /// Counts a connection as waiting, which keeps the session from being idle.
    pub(crate) fn attach(self: &Arc<Self>) -> AttachedConnection {
        self.attached.fetch_add(1, Ordering::Relaxed);
        self.touch();
        AttachedConnection(Arc::clone(self))
    }

    /// For how long nothing came, nothing was being served and nobody waited.
    pub(crate) fn idle(&self) -> Duration {
        if !self.in_flight.is_empty() || self.attached.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        self.activity.silence()
    }

    /// Whether nothing was heard of its client since it began.
    pub(crate) fn is_unused(&self) -> bool {
        self.activity.times() == 0
    }

    /// The session is over: whatever it has under way ends.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.in_flight.cancel_all();
    }

    /// Hands the client's response to the request of this server that it answers.
    pub(crate) fn complete(&self, id: &RequestId, result: ClientResult, held: Option<BufferReservation>) {
        self.pending_requests.complete(id, result, held.map(Arc::new));
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Arc<Self> {
        Self::for_caller(&Caller::Unknown)
    }

    #[cfg(test)]
    pub(crate) fn for_caller(caller: &Caller) -> Arc<Self> {
        let said = (ClientInfo::default(), ClientCapabilities::default());
        let share = BufferBudget::new(64 << 20).share(caller);
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        Arc::new(Self::new(share, Revision::V2025_11_25, said, None, tasks, stopping))
    }
}

impl Drop for AttachedConnection {
    fn drop(&mut self) {
        self.0.touch();
        self.0.attached.fetch_sub(1, Ordering::Relaxed);
    }
}
