//! The state that all requests share.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::audit_lookups::AuditLookups;
use super::buffer_budget::{BufferBudget, BufferShare};
use super::catalog_view::CatalogView;
use super::listener_view::{CallerListenerView, ListeningCaller, fixed_listener};
use super::mrtr::SuspendedCalls;
use super::operation_metrics::OperationMetrics;
use super::request_sender::{RequestSender, ResumingCaller};
use super::tasks::{TaskBounds, TaskSettings, Tasks};
use super::wire::CacheScope;
use crate::access::{Authenticator, Quotas};
use crate::call_env::Caller;
use crate::catalog::{Catalog, ChangeReceiver, ListDigests, ListenerView};
use crate::config;
use crate::observe::metrics::{MetricFamily, MetricKind};
use crate::observe::trace::Tracer;
use crate::sandbox::{KvDatabase, LargeWork};
use crate::token_bucket::CallerRates;

/// How long lists wait for plugins from the code cache. Loading these takes milliseconds unless the disk hangs.
const CACHED_LOAD_WAIT: Duration = Duration::from_secs(5);

/// How often suspended calls and idle sessions are checked for expiry.
pub(crate) const SWEEP: Duration = Duration::from_millis(500);

/// The server.
#[derive(Debug)]
pub struct Server {
    pub(super) catalog: Arc<Catalog>,
    pub(super) suspended_calls: Arc<SuspendedCalls>,
    /// Calls that have become tasks.
    pub(super) call_tasks: Arc<Tasks>,
    /// Calls of sessions, which outlive their connections.
    pub(super) tasks: TaskTracker,
    /// Bounds the memory of clients.
    pub(super) buffers: Arc<BufferBudget>,
    /// Cancelled when the server stops at once and no request may wait any longer.
    pub(super) ending: CancellationToken,
    started: Instant,
    /// Cancelled when the server begins to stop.
    pub(super) stopping: CancellationToken,
    pub(super) settings: config::ServerConfig,
    /// Name and version of this program.
    pub(super) info: Box<RawValue>,
    /// The permits for parsing large messages of clients.
    pub(super) reading: Arc<LargeWork>,
    /// Bounds the look-ups of hidden items for the audit.
    pub(super) lookups: AuditLookups,
    authenticator: Arc<Authenticator>,
    quotas: Arc<Quotas>,
    tracer: Tracer,
    trace_shares: CallerRates<Caller>,
    /// Counts requests and sessions; `None` if metrics are off.
    pub(super) metrics: Option<Arc<OperationMetrics>>,
}

impl Server {
    /// Makes a server for `catalog`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, settings: config::ServerConfig) -> Self {
        let info = json!({ "name": "plugport", "title": "Plugport", "version": env!("CARGO_PKG_VERSION") });
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let buffers = BufferBudget::new(settings.client_buffers_bytes);
        Self {
            catalog,
            suspended_calls: SuspendedCalls::new(settings.suspended_calls, settings.suspended_call),
            call_tasks: call_tasks(KvDatabase::of_state(None), &settings, &buffers, (&tasks, &stopping)),
            tasks,
            buffers,
            ending: CancellationToken::new(),
            started: Instant::now(),
            stopping,
            settings,
            info: serde_json::value::to_raw_value(&info).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            reading: Arc::new(LargeWork::new()),
            lookups: AuditLookups::new(),
            authenticator: Arc::default(),
            quotas: Arc::default(),
            tracer: Tracer::default(),
            trace_shares: CallerRates::per_second(1),
            metrics: None,
        }
    }

    /// The same server, which stores tasks in this database. Without one no call becomes a task.
    #[must_use]
    pub fn with_tasks(self, database: Arc<KvDatabase>) -> Self {
        let stops = (&self.tasks, &self.stopping);
        let call_tasks = call_tasks(database, &self.settings, &self.buffers, stops);
        Self { call_tasks, ..self }
    }

    /// The same server, which authenticates callers.
    #[must_use]
    pub fn with_authenticator(self, authenticator: Arc<Authenticator>) -> Self {
        Self { authenticator, ..self }
    }

    /// The same server, with quotas that outlive the server.
    #[must_use]
    pub fn with_quotas(self, quotas: Arc<Quotas>) -> Self {
        Self { quotas, ..self }
    }

    /// What callers have used of their quotas.
    pub(super) fn quotas(&self) -> &Arc<Quotas> {
        &self.quotas
    }

    /// The same server, which records traces.
    #[must_use]
    pub fn with_tracer(self, tracer: Tracer) -> Self {
        Self { trace_shares: CallerRates::per_second(tracer.caller_share()), tracer, ..self }
    }

    /// Whether traces of requests are recorded.
    pub(crate) fn records_traces(&self) -> bool {
        self.tracer.is_enabled()
    }

    /// Begins the traces of requests.
    pub(super) fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// The number of traces that each caller is sure to get although other callers begin too many.
    pub(super) fn trace_shares(&self) -> &CallerRates<Caller> {
        &self.trace_shares
    }

    /// The same server, which counts requests and sessions.
    #[must_use]
    pub fn with_metrics(self) -> Self {
        Self { metrics: Some(OperationMetrics::new()), ..self }
    }

    /// Metrics of requests, sessions and suspended calls.
    #[must_use]
    pub fn metric_families(&self) -> Vec<MetricFamily> {
        let counted = self.metrics.as_ref().map(|metrics| metrics.families(&self.catalog.current()));
        let mut families = counted.unwrap_or_default();
        families.push(MetricFamily::single(
            MetricKind::Gauge,
            "plugport_calls_suspended",
            "Calls that wait for a response of their client.",
            self.suspended_calls.count(),
        ));
        let (unfinished, stored) = self.call_tasks.totals();
        let help = "Calls that have become tasks: unfinished ones, and those with a stored result.";
        let mut tasks = MetricFamily::new(MetricKind::Gauge, "plugport_tasks", help);
        tasks.add([("state", "unfinished")], unfinished);
        tasks.add([("state", "stored")], stored);
        families.push(tasks);
        families.push(MetricFamily::single(
            MetricKind::Counter,
            "plugport_audit_skipped_total",
            "Look-ups of hidden items for the audit that were skipped, because too many were under way.",
            self.lookups.skipped(),
        ));
        families
    }

    /// Authenticates callers; without `[auth]` it authenticates nobody.
    #[must_use]
    pub fn authenticator(&self) -> &Arc<Authenticator> {
        &self.authenticator
    }

    /// The `cacheScope` of lists.
    pub(super) fn cache_scope(&self) -> CacheScope {
        let differs = self.authenticator.is_configured() || self.catalog.has_policy();
        if differs { CacheScope::Private } else { CacheScope::Public }
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

    /// The view of the catalog for one request of a caller.
    pub(crate) fn catalog_view(&self, caller: &Caller) -> CatalogView {
        // The order matters: a plugin that is published between the two reads is then in the snapshot.
        let is_complete = self.catalog.is_complete();
        let (snapshot, access) = self.catalog.current_for(&caller.subject());
        CatalogView { snapshot, is_complete, access }
    }

    /// Returns a receiver of all changes that a caller sees, starting now, or when lists are released to clients.
    pub(crate) fn changes(&self, caller: &Caller) -> ChangeReceiver {
        self.changes_since(self.released_lists(caller), &fixed_listener(caller))
    }

    /// Like [`Self::changes`], for a client that knows these lists.
    pub(crate) fn changes_since(
        &self,
        known: Option<ListDigests>,
        caller: &ListeningCaller,
    ) -> ChangeReceiver {
        self.catalog.changes_since(known).seen_by(CallerListenerView::of(&self.catalog, caller))
    }

    /// The digests of the lists that a caller sees now; `None` while lists are not released to clients.
    pub(crate) fn released_lists(&self, caller: &Caller) -> Option<ListDigests> {
        let published = self.catalog.released_lists()?;
        Some(self.view_of(caller).lists().unwrap_or(published))
    }

    /// What a caller sees, at each moment.
    pub(crate) fn view_of(&self, caller: &Caller) -> Arc<dyn ListenerView> {
        CallerListenerView::of(&self.catalog, &fixed_listener(caller))
    }

    /// The caller of a request that is sent now.
    pub(crate) fn sender(&self, caller: &Caller) -> RequestSender {
        RequestSender::new(caller, &self.catalog)
    }

    /// A caller that resumes the stream of a request of `sender`; `None` if the stream is not for this caller.
    pub(crate) fn resuming(&self, sender: RequestSender, caller: &Caller) -> Option<ResumingCaller> {
        ResumingCaller::new(sender, caller, &self.catalog)
    }

    /// Ends calls that have been suspended for too long and deletes expired tasks, until the server begins to stop.
    pub async fn run_housekeeping(&self) {
        self.stopping.run_until_cancelled(self.call_tasks.load()).await;
        let mut tick = tokio::time::interval(SWEEP);
        while self.stopping.run_until_cancelled(tick.tick()).await.is_some() {
            self.suspended_calls.sweep();
            self.call_tasks.sweep().await;
        }
    }

    /// The deadline until which lists wait for the initial load: `initial_load_wait`, or [`CACHED_LOAD_WAIT`] if that
    /// is longer and nothing is being compiled.
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

    /// Ends all subscriptions and all suspended calls, because the only client has closed its end and sends nothing
    /// more. That client still reads the responses to its requests.
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

/// The tasks of a server with these settings.
fn call_tasks(
    database: Arc<KvDatabase>,
    settings: &config::ServerConfig,
    buffers: &Arc<BufferBudget>,
    (tracker, stopping): (&TaskTracker, &CancellationToken),
) -> Arc<Tasks> {
    let bounds = TaskBounds { tasks: settings.tasks, bytes: settings.task_store_mib << 20 };
    let (buffers, tracker, stopping) = (Arc::clone(buffers), tracker.clone(), stopping.clone());
    let (ttl, max_wait) = (settings.task_ttl, settings.suspended_call);
    Tasks::new(database, TaskSettings { bounds, ttl, max_wait, buffers, tracker, stopping })
}
