//! The state that all requests share.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::buffer_budget::{BufferBudget, BufferShare};
use super::mrtr::SuspendedCalls;
use crate::call_env::Caller;
use crate::catalog::{Catalog, Snapshot};
use crate::config;
use crate::sandbox::LargeWork;

/// How long lists wait for plugins from the code cache. Loading them takes milliseconds unless a disk hangs.
const CACHED_LOAD_WAIT: Duration = Duration::from_secs(5);

/// How often suspended calls and idle sessions are checked for expiry.
pub(crate) const SWEEP: Duration = Duration::from_millis(500);

/// One request's view of the catalog: one snapshot for the checks of the transport and for the handler.
#[derive(Debug)]
pub(crate) struct CatalogView {
    pub(crate) snapshot: Arc<Snapshot>,
    /// Whether the first load of the plugin folder had ended when the snapshot was taken.
    pub(crate) is_complete: bool,
}

/// The server.
#[derive(Debug)]
pub struct Server {
    pub(super) catalog: Arc<Catalog>,
    pub(super) suspended_calls: Arc<SuspendedCalls>,
    /// Calls of sessions, which outlive their connections.
    pub(super) tasks: TaskTracker,
    /// Bounds the memory of clients.
    pub(super) buffers: Arc<BufferBudget>,
    /// Cancelled when the server stops at once: no request may wait any longer.
    pub(super) ending: CancellationToken,
    started: Instant,
    /// Cancelled when the server begins to stop.
    pub(super) stopping: CancellationToken,
    pub(super) settings: config::ServerConfig,
    /// Name and version of this program.
    pub(super) info: Box<RawValue>,
    /// The permits for reading large messages of clients.
    pub(super) reading: Arc<LargeWork>,
}

impl Server {
    /// A server that serves `catalog`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, settings: config::ServerConfig) -> Self {
        let info = json!({ "name": "plugport", "title": "Plugport", "version": env!("CARGO_PKG_VERSION") });
        Self {
            catalog,
            suspended_calls: SuspendedCalls::new(settings.suspended_calls, settings.suspended_call),
            tasks: TaskTracker::new(),
            buffers: BufferBudget::new(settings.client_buffers_bytes),
            ending: CancellationToken::new(),
            started: Instant::now(),
            stopping: CancellationToken::new(),
            settings,
            info: serde_json::value::to_raw_value(&info).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            reading: Arc::new(LargeWork::new()),
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Cancelled when the server begins to stop.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The permits for reading large messages of clients.
    pub(crate) fn reading(&self) -> &LargeWork {
        &self.reading
    }

    /// The settings from `[server]`.
    #[must_use]
    pub fn settings(&self) -> &config::ServerConfig {
        &self.settings
    }

    /// The share of a caller in the buffer budget.
    #[must_use]
    pub fn share(&self, caller: &Caller) -> BufferShare {
        self.buffers.share(caller)
    }

    /// The view of the catalog for one request.
    pub(crate) fn catalog_view(&self) -> CatalogView {
        // In this order, because a plugin published between the two reads is then in the snapshot.
        let is_complete = self.catalog.is_complete();
        CatalogView { snapshot: self.catalog.current(), is_complete }
    }

    /// Ends calls that have been suspended for too long, until the server begins to stop.
    pub async fn run_housekeeping(&self) {
        let mut tick = tokio::time::interval(SWEEP);
        while self.stopping.run_until_cancelled(tick.tick()).await.is_some() {
            self.suspended_calls.sweep();
        }
    }

    /// Until when lists wait for the initial load: `initial_load_wait`, and at least [`CACHED_LOAD_WAIT`] as long as
    /// nothing is being compiled.
    pub(super) fn startup_deadline(&self) -> Instant {
        let at_least = if self.catalog.is_compiling() { Duration::ZERO } else { CACHED_LOAD_WAIT };
        self.started + self.settings.initial_load_wait.max(at_least)
    }

    /// How long requests may still have to wait for the initial load.
    #[must_use]
    pub fn startup_wait(&self) -> Duration {
        match self.catalog.is_complete() {
            true => Duration::ZERO,
            false => self.startup_deadline().saturating_duration_since(Instant::now()),
        }
    }

    /// Stops the server. Requests that wait for the initial load get what is published.
    pub fn stop(&self) {
        self.ending.cancel();
        self.input_closed();
    }

    /// Ends all subscriptions and all suspended calls, because the only client sends nothing more. The client still
    /// reads the responses to its requests.
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
