//! The `T` of `Store<T>`: everything that one instance has on the host's side. Dropped with the store, so nothing of
//! one call can be found by the next; and where the operator has instances serve several calls of one caller, all that is a
//! call's own begins anew with each.

use std::sync::Arc;

use wasmtime::component::{Instance, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::allow::Allow;
use super::asking::Questions;
use super::calls::Calls;
use super::denials::Denials;
use super::filesystem::OpenFiles;
use super::held::Held;
use super::http::Http;
use super::stdio::Printed;
use super::{Logs, Shared, wasi};
use crate::config::{PluginConfig, mib};
use crate::sandbox::{Bucket, Limiter, Meter, Waiting};

/// Entries of the resource table that an instance may keep between calls: streams, files and the like. Some, such as
/// streams, hold much memory of the host that is not counted for the instance.
const LEFT: usize = 64;

/// How often a guest may ask for its directories before they count among these: once itself and once by an adapter. Each time
/// every one of them has an entry, which stays.
const LOOKS: usize = 2;

/// What the host keeps for one instance.
pub(crate) struct State {
    wasi: WasiCtx,
    printed: Printed,
    pub(crate) table: ResourceTable,
    pub(crate) calls: Calls,
    /// What serves the calls of clients, once it is made.
    pub(crate) instance: Option<Instance>,
    /// Calls that it has served or begun to serve.
    pub(crate) served: u32,
    pub(crate) limiter: Limiter,
    pub(crate) meter: Meter,
    pub(crate) logs: Logs,
    /// What it keeps between calls; `None` when that is not granted.
    pub(super) bucket: Option<Arc<Bucket>>,
    /// Bytes that one host call may hand over.
    pub(super) transfer: usize,
    /// What is kept behind its handles.
    pub(super) held: Held,
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
    /// The state of a fresh instance, for its first call.
    ///
    /// # Errors
    /// When a granted directory has gone, or no memory is left for another instance.
    pub(crate) fn new(shared: &Arc<Shared>, waiting: Waiting) -> wasmtime::Result<Self> {
        let PluginConfig { grants, limits, .. } = &shared.config;
        let (rate, mask) = (Arc::clone(&shared.log_rate), grants.secrets.mask().clone());
        let logs = Logs::new(Arc::clone(&shared.name), rate, limits, mask);
        let transfer = mib(limits.transfer_mib);
        let meter = Meter::of_instance(limits.fuel, shared.memory.host_call(transfer));
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        let denials = Denials::default();
        let printed = Printed::new(&logs, &meter);
        let bucket = |mib| Arc::new(Bucket::new(Arc::clone(&shared.store), Arc::clone(&shared.name), mib));
        Ok(Self {
            wasi: wasi::context(grants, limits, &printed)?,
            printed,
            table,
            calls: Calls::default(),
            instance: None,
            served: 0,
            limiter: Limiter::new(limits, shared.memory.instance()?),
            http: Http::new(shared, &meter, &denials),
            meter,
            logs,
            bucket: grants.kv_mib.map(bucket),
            transfer,
            held: Held::new(transfer),
            waiting,
            questions: Questions::new(limits),
            denials,
            files: OpenFiles::new(limits.open_files, &shared.dirs),
            shared: Arc::clone(shared),
            announces: true,
        })
    }

    /// The call is over and the instance is to serve another. `false`: it may not, since something of the call goes on, or
    /// since it has taken so much that the next call, or others, would lack it.
    pub(crate) fn rest(&mut self) -> bool {
        self.calls.end();
        self.printed.end_lines();
        self.waiting.end();
        self.meter.end();
        let is_counted = self.held.count(&mut self.table, self.limiter.account());
        let is_quiet = self.announces && self.http.is_quiet();
        let may_leave = LEFT + LOOKS * self.shared.config.grants.dirs.len();
        let is_light = !self.limiter.is_nearly_full() && self.table.iter_mut().count() <= may_leave;
        self.instance.is_some() && is_counted && is_quiet && is_light
    }

    /// Begins another call in the same instance. What the guest holds stays as it is, and counts.
    pub(crate) fn begin_again(&mut self, waiting: Waiting) {
        let limits = &self.shared.config.limits;
        self.meter.begin_again();
        self.logs.begin_again(limits);
        self.limiter.begin_again();
        self.files.begin_again();
        self.questions = Questions::new(limits);
        self.denials = Denials::default();
        self.http = Http::new(&self.shared, &self.meter, &self.denials);
        self.waiting = waiting;
    }

    /// Notes for the operator what the guest was denied, and the line that would allow it.
    pub(super) fn deny(&mut self, wanted: &str, allow: impl Into<Allow>) {
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
