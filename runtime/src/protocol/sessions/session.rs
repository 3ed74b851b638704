//! A client of a revision with sessions: what it said at `initialize`, and what it has under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::asking::abilities::Abilities;
use super::super::asking::asked::Asked;
#[cfg(test)]
use super::super::buffers::Buffers;
use super::super::buffers::Share;
use super::super::connection::cancel;
use super::super::context::SharedLevel;
use super::super::message::Notification;
use super::super::revision::Revision;
use super::super::server::Server;
use super::in_flight::InFlight;
use super::roots::KnownRoots;
use super::streams::Streams;
use super::subscriptions::Subscriptions;
use crate::catalog::Lists;
#[cfg(test)]
use crate::host::Caller;
use crate::host::{ClientInfo, LogLevel};

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    /// How the lists looked when it began, or else when clients got them first: from then on it is told of what changes.
    pub(crate) lists: Option<Lists>,
    /// Whose it is.
    pub(crate) share: Share,
    pub(crate) client: ClientInfo,
    pub(crate) abilities: Abilities,
    pub(crate) log_level: SharedLevel,
    pub(crate) roots: KnownRoots,
    pub(crate) in_flight: Arc<InFlight>,
    /// Requests of ours to the client.
    pub(crate) asked: Arc<Asked>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) activity: Arc<Activity>,
    /// Event streams that can be resumed.
    pub(crate) streams: Streams,
    /// Calls that outlive the connection which began them.
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
pub(crate) struct Activity {
    begun: Instant,
    /// Milliseconds after `begun`.
    last: AtomicU64,
    times: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { begun: Instant::now(), last: AtomicU64::new(0), times: AtomicU64::new(0) }
    }

    fn note(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }

    /// How often it was heard of: whoever finds another number later knows that it was.
    pub(crate) fn times(&self) -> u64 {
        self.times.load(Ordering::Relaxed)
    }
}

/// A connection that waits for whatever comes, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Attached(Arc<Session>);

impl Session {
    /// A session that begins. What it keeps is kept for its caller.
    pub(crate) fn new(
        server: &Server,
        share: Share,
        revision: Revision,
        said: (ClientInfo, Abilities),
    ) -> Self {
        let (most, stopping) = (server.settings.requests_per_session, server.stopping.clone());
        Self { lists: server.catalog.told(), ..Self::with(most, stopping, share, revision, said) }
    }

    fn with(
        most: usize,
        stopping: CancellationToken,
        share: Share,
        revision: Revision,
        (client, abilities): (ClientInfo, Abilities),
    ) -> Self {
        Self {
            revision,
            lists: None,
            client,
            abilities,
            log_level: SharedLevel::new(LogLevel::Info),
            roots: KnownRoots::default(),
            in_flight: InFlight::new(most, share.clone()),
            asked: Arc::default(),
            subscriptions: Arc::new(Subscriptions::new(share.clone())),
            activity: Arc::new(Activity::new()),
            streams: Streams::new(share.clone()),
            share,
            tasks: TaskTracker::new(),
            ended: CancellationToken::new(),
            stopping,
            attached: AtomicUsize::new(0),
        }
    }

    pub(crate) fn touch(&self) {
        self.activity.note();
    }

    /// Acts on a notification from its client.
    pub(crate) fn notified(&self, notification: &Notification) {
        cancel(&self.in_flight, notification);
        if notification.method == "notifications/roots/list_changed" {
            self.roots.forget();
        }
    }

    /// Counts a connection as waiting, which keeps the session from being idle.
    pub(crate) fn attach(self: &Arc<Self>) -> Attached {
        self.attached.fetch_add(1, Ordering::Relaxed);
        self.touch();
        Attached(Arc::clone(self))
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

    #[cfg(test)]
    pub(crate) fn for_tests() -> Arc<Self> {
        Self::of(&Caller::Unknown)
    }

    #[cfg(test)]
    pub(crate) fn of(caller: &Caller) -> Arc<Self> {
        let said = (ClientInfo::default(), Abilities::default());
        let share = Buffers::new(64 << 20).share(caller);
        Arc::new(Self::with(9, CancellationToken::new(), share, Revision::V2025_11_25, said))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.touch();
        self.0.attached.fetch_sub(1, Ordering::Relaxed);
    }
}
