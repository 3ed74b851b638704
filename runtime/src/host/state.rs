//! The `T` of `Store<T>`: everything that one instance has on the host's side. Dropped with the store, so nothing of
//! one call can be found by the next.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::asking::Questions;
use super::denials::Denials;
use super::filesystem::OpenFiles;
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
    pub(super) denials: Arc<Denials>,
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
        let logs = Logs::new(Arc::clone(&shared.name), limits);
        let meter = Meter::new(limits.fuel);
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        let bucket = |mib| Arc::new(Bucket::new(Arc::clone(&shared.store), Arc::clone(&shared.name), mib));
        Ok(Self {
            wasi: wasi::context(grants, limits, &logs, &meter)?,
            table,
            limiter: Limiter::new(limits),
            meter,
            logs,
            bucket: grants.kv_mib.map(bucket),
            transfer: mib(limits.transfer_mib),
            waiting,
            questions: Questions::new(grants, limits),
            denials: Arc::default(),
            files: OpenFiles::new(limits.open_files, &shared.dirs),
            shared: Arc::clone(shared),
            announces: true,
        })
    }

    /// Notes for the operator what the guest was denied, and the line that would allow it.
    pub(super) fn deny(&mut self, wanted: &str, allow: &str) {
        self.denials.note(&self.shared, wanted, allow);
    }

    /// From here on the guest's words of a change are not heard.
    pub(crate) fn ignore_changes(&mut self) {
        self.announces = false;
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
