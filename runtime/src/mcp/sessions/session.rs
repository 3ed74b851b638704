//! One session: what the client sent with `initialize`, and its running requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[cfg(test)]
use super::super::buffer_budget::BufferBudget;
use super::super::buffer_budget::{BufferReservation, BufferShare};
use super::super::client_requests::client_capabilities::ClientCapabilities;
use super::super::client_requests::pending_requests::{PendingRequests, ReceivedResponse};
use super::super::jsonrpc::{ClientResult, Notification};
use super::super::log_level::SharedLogLevel;
use super::super::request_id::RequestId;
use super::super::revision::Revision;
use super::client_roots::CachedRoots;
use super::in_flight::InFlight;
use super::subscriptions::Subscriptions;
use super::task_requests::TaskRequests;
use crate::call_env::{Caller, ClientInfo, LogLevel};
use crate::catalog::ListDigests;
use crate::config::fixed_limits::REQUESTS_PER_SESSION;
use crate::observe::metrics::SessionTimer;

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    /// The lists when the session began; `None` if the initial load still held them back. The client is notified of
    /// changes since then, or since the lists were released.
    pub(crate) lists: Option<ListDigests>,
    pub(crate) share: BufferShare,
    pub(crate) client: ClientInfo,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) log_level: SharedLogLevel,
    pub(crate) roots: CachedRoots,
    pub(crate) in_flight: Arc<InFlight>,
    /// Requests of the server to the client.
    pub(crate) pending_requests: Arc<PendingRequests>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) task_requests: Arc<TaskRequests>,
    pub(crate) activity: Arc<SessionActivity>,
    /// The server's tracker of calls that outlive the connection on which they began.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the session has ended.
    pub(crate) ended: CancellationToken,
    /// Cancelled when the server begins to stop.
    pub(crate) stopping: CancellationToken,
    /// The number of open connections for server notifications.
    attached: AtomicUsize,
    /// Times the session if the server has metrics.
    _timer: Option<SessionTimer>,
}

/// When a session was last active, and how often: activity means that a message came, a request ended, or a connection
/// was attached or dropped.
#[derive(Debug)]
pub(crate) struct SessionActivity {
    begun: Instant,
    /// Milliseconds from `begun` to the last activity.
    last: AtomicU64,
    count: AtomicU64,
}

impl SessionActivity {
    fn new() -> Self {
        Self { begun: Instant::now(), last: AtomicU64::new(0), count: AtomicU64::new(0) }
    }

    fn record(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }

    /// The number of recorded activities. If it is higher later, there was activity in between.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// Counts an open connection for server notifications until it is dropped.
#[derive(Debug)]
pub(crate) struct AttachedConnection(Arc<Session>);

impl Session {
    /// Makes a session. Its memory is reserved from `share`; `tasks` and `stopping` are the server's.
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
            task_requests: Arc::default(),
            activity: Arc::new(SessionActivity::new()),
            share,
            tasks,
            ended: CancellationToken::new(),
            stopping,
            attached: AtomicUsize::new(0),
            _timer: None,
        }
    }

    /// The same session, timed by `timer`.
    pub(crate) fn with_timer(self, timer: SessionTimer) -> Self {
        Self { _timer: Some(timer), ..self }
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

    /// Counts an open connection for server notifications. The session is not idle while there is one.
    pub(crate) fn attach(self: &Arc<Self>) -> AttachedConnection {
        self.attached.fetch_add(1, Ordering::Relaxed);
        self.touch();
        AttachedConnection(Arc::clone(self))
    }

    /// The time since the last activity; zero while a request is running or a connection is attached.
    pub(crate) fn idle(&self) -> Duration {
        if !self.in_flight.is_empty() || self.attached.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        self.activity.silence()
    }

    /// Whether there was no activity since the session began.
    pub(crate) fn is_unused(&self) -> bool {
        self.activity.count() == 0
    }

    /// Ends the session and cancels its running requests.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.in_flight.cancel_all();
    }

    /// Passes a response of the client to the server's request with that id.
    pub(crate) fn complete(
        &self,
        id: &RequestId,
        caller: &Caller,
        result: ClientResult,
        reservation: Option<BufferReservation>,
    ) {
        let (caller, reservation) = (caller.clone(), reservation.map(Arc::new));
        self.pending_requests.complete(id, ReceivedResponse { caller, result, reservation });
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Arc<Self> {
        Self::for_caller(&Caller::Unknown)
    }

    #[cfg(test)]
    pub(crate) fn for_caller(caller: &Caller) -> Arc<Self> {
        let client = (ClientInfo::default(), ClientCapabilities::default());
        let share = BufferBudget::new(64 << 20).share(caller);
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        Arc::new(Self::new(share, Revision::V2025_11_25, client, None, tasks, stopping))
    }
}

impl Drop for AttachedConnection {
    fn drop(&mut self) {
        self.0.touch();
        self.0.attached.fetch_sub(1, Ordering::Relaxed);
    }
}
