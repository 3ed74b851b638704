//! The `T` of `Store<T>`: everything that one instance has on the host's side. Dropped with the store, so nothing of
//! one call can be found by the next.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::asking::Questions;
use super::denials::Denials;
use super::filesystem::OpenFiles;
use super::http::Http;
use super::{Logs, Shared, wasi};
use crate::config::{PluginConfig, mib};
use crate::sandbox::{Bucket, Limiter, Meter, Waiting};

/// What the host keeps for one instance.
pub(crate) struct State {
    wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) meter: Meter,
    pub(crate) logs: Logs,
    /// What it keeps between calls; `None` when that is not granted.
    pub(super) bucket: Option<Arc<Bucket>>,
    /// Bytes that one host call may hand over.
    pub(super) transfer: usize,
    pub(super) waiting: Waiting,
    pub(super) questions: Questions,
    pub(super) denials: Denials,
    pub(super) http: Http,
    pub(super) files: OpenFiles,
    /// What it has in common with other calls of its plugin.
    pub(super) shared: Arc<Shared>,
    /// Whether anybody wants to hear that something changed.
    pub(super) announces: bool,
}

impl State {
    /// A fresh state for one call.
    ///
    /// # Errors
    /// When a granted directory has gone.
    pub(crate) fn new(shared: &Arc<Shared>, waiting: Waiting) -> wasmtime::Result<Self> {
        let PluginConfig { grants, limits, .. } = &shared.config;
        let (rate, mask) = (Arc::clone(&shared.log_rate), grants.secrets.mask().clone());
        let logs = Logs::new(Arc::clone(&shared.name), rate, limits, mask);
        let meter = Meter::new(limits.fuel);
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        let denials = Denials::default();
        let bucket = |mib| Arc::new(Bucket::new(Arc::clone(&shared.store), Arc::clone(&shared.name), mib));
        Ok(Self {
            wasi: wasi::context(grants, limits, &logs, &meter)?,
            table,
            limiter: Limiter::new(limits),
            http: Http::new(shared, &meter, &denials),
            meter,
            logs,
            bucket: grants.kv_mib.map(bucket),
            transfer: mib(limits.transfer_mib),
            waiting,
            questions: Questions::new(limits),
            denials,
            files: OpenFiles::new(limits.open_files, &shared.dirs),
            shared: Arc::clone(shared),
            announces: true,
        })
    }

    /// Notes for the operator what the guest was denied, and the line that would allow it.
    pub(super) fn deny(&mut self, wanted: &str, allow: &str) {
        self.denials.note(&self.shared, wanted, allow);
    }

    /// Notes for the operator that the guest came to a limit and may go on: the sentence that it got.
    pub(super) fn reached(&mut self, why: &str) {
        self.denials.reached(&self.shared, why);
    }

    /// From here on the guest's words of a change are not heard.
    pub(crate) fn ignore_changes(&mut self) {
        self.announces = false;
    }
}

impl WasiView for State {
    // Every function of WASI comes by here, and none of them charges for itself.
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.meter.note_call();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
