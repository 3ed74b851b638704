//! The `T` of `Store<T>`: everything that one instance has on the host's side. Dropped with the store, so nothing of
//! one call can be found by the next.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::asking::Questions;
use super::{ChangeBoard, Logs, wasi};
use crate::config::{Grants, Limits, mib};
use crate::sandbox::{Bucket, Limiter, Meter, Store, Waiting};

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
    /// Whose words of a change these are, and where they go; `None` when nobody wants to hear them.
    pub(crate) changes: Option<(Arc<str>, Arc<ChangeBoard>)>,
}

impl State {
    /// A fresh state for one call.
    ///
    /// # Errors
    /// When a granted directory has gone.
    pub(crate) fn new(
        plugin: Arc<str>,
        changes: Arc<ChangeBoard>,
        store: &Arc<Store>,
        grants: &Grants,
        limits: &Limits,
        waiting: Waiting,
    ) -> wasmtime::Result<Self> {
        let logs = Logs::new(Arc::clone(&plugin), limits);
        let meter = Meter::new(limits.fuel);
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        Ok(Self {
            wasi: wasi::context(grants, limits, &logs, &meter)?,
            table,
            limiter: Limiter::new(limits),
            meter,
            logs,
            bucket: grants
                .kv_mib
                .map(|mib| Arc::new(Bucket::new(Arc::clone(store), Arc::clone(&plugin), mib))),
            transfer: mib(limits.transfer_mib),
            waiting,
            questions: Questions::new(grants, limits),
            changes: Some((plugin, changes)),
        })
    }

    /// From here on the guest's words of a change are not heard.
    pub(crate) fn ignore_changes(&mut self) {
        self.changes = None;
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
