//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::buffer_budget::{BufferBudget, BufferShare};
use super::mrtr::SuspendedCalls;
use crate::catalog::{Catalog, Snapshot};
use crate::config;
use crate::host::Caller;
use crate::sandbox::LargeWork;

/// How long lists wait for what was compiled before, which takes milliseconds unless a disk hangs.
const KEPT: Duration = Duration::from_secs(5);

/// How often suspended calls and silent sessions are checked for their end.
pub(crate) const SWEEP: Duration = Duration::from_millis(500);

/// What one request reads of the catalog: one snapshot for the checks of the transport and for the handler.
#[derive(Debug)]
pub(crate) struct CatalogView {
    pub(crate) snapshot: Arc<Snapshot>,
    /// Whether the first load of the plugin folder had ended when the snapshot was taken.
    pub(crate) is_complete: bool,
}

/// The server, as a client meets it.
#[derive(Debug)]
pub struct Server {
    pub(super) catalog: Arc<Catalog>,
    pub(super) suspended_calls: Arc<SuspendedCalls>,
    /// Calls of sessions, which outlive their connections.
    pub(super) tasks: TaskTracker,
    /// What is kept for clients.
    pub(super) buffers: Arc<BufferBudget>,
    /// Cancelled when the server is to end at once, and nobody is to wait for anything.
    pub(super) ending: CancellationToken,
    begun: Instant,
    /// Cancelled when the server is to end.
    pub(super) stopping: CancellationToken,
    pub(super) settings: config::ServerConfig,
    /// Name and version of this program.
    pub(super) info: Box<RawValue>,
    /// Where what clients send is read, if it is large.
    pub(super) reading: Arc<LargeWork>,
}

impl Server {
    /// A server that offers what is in `catalog`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, settings: config::ServerConfig) -> Self {
        let info = json!({ "name": "plugport", "title": "Plugport", "version": env!("CARGO_PKG_VERSION") });
        Self {
            catalog,
            suspended_calls: SuspendedCalls::new(settings.suspended_calls, settings.suspended_call),
            tasks: TaskTracker::new(),
            buffers: BufferBudget::new(settings.client_buffers_bytes),
            ending: CancellationToken::new(),
            begun: Instant::now(),
            stopping: CancellationToken::new(),
            settings,
            info: serde_json::value::to_raw_value(&info).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            reading: Arc::new(LargeWork::new()),
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Cancelled when the server is to end.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Where what clients send is read, if it is large.
    pub(crate) fn reading(&self) -> &LargeWork {
        &self.reading
    }

    /// The `[server]` settings it was made with.
    #[must_use]
    pub fn settings(&self) -> &config::ServerConfig {
        &self.settings
    }

    /// What a caller holds of what the server keeps for its clients.
    #[must_use]
    pub fn share(&self, caller: &Caller) -> BufferShare {
        self.buffers.share(caller)
    }

    /// What one request reads of the catalog.
    pub(crate) fn catalog_view(&self) -> CatalogView {
        // In this order: what is published between the two is in the snapshot.
        let is_complete = self.catalog.is_complete();
        CatalogView { snapshot: self.catalog.current(), is_complete }
    }

    /// Ends calls that have been suspended for too long, until the server is to end.
    pub async fn run_housekeeping(&self) {
        let mut tick = tokio::time::interval(SWEEP);
        while self.stopping.run_until_cancelled(tick.tick()).await.is_some() {
            self.suspended_calls.sweep();
        }
    }

    /// Until when lists wait for what is being compiled at the start, and a little longer for what was compiled before.
    pub(super) fn startup_deadline(&self) -> Instant {
        let kept = if self.catalog.is_compiling() { Duration::ZERO } else { KEPT };
        self.begun + self.settings.initial_load_wait.max(kept)
    }

    /// How long requests may still have to wait because the server has just begun.
    #[must_use]
    pub fn startup_wait(&self) -> Duration {
        match self.catalog.is_complete() {
            true => Duration::ZERO,
            false => self.startup_deadline().saturating_duration_since(Instant::now()),
        }
    }

    /// Ends, answering what waits with what there is.
    pub fn stop(&self) {
        self.ending.cancel();
        self.input_closed();
    }

    /// The only client sends nothing more, and still reads the responses to its requests. Ends all subscriptions and
    /// all suspended calls.
    pub fn input_closed(&self) {
        self.stopping.cancel();
        self.suspended_calls.clear();
    }

    /// Waits for calls that outlive their connections.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
