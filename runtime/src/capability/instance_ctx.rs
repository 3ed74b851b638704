//! The life of an [`InstanceCtx`]: how it is made, ends a call and begins another. These functions go through all parts
//! of an instance. The layer `plugin` calls them, and no host function does.

use std::sync::{Arc, OnceLock};

use wasmtime::component::ResourceTable;

use super::client_requests::RequestBudget;
use super::host_support::current_call::CurrentCall;
use super::host_support::handle_memory::HandleMemory;
use super::host_support::wasi_ctx::LazyWasiCtx;
use super::{InstanceCtx, PerInstance, PluginCtx, filesystem, guest_log};
use crate::call_env::Caller;
use crate::config::fixed_limits::HANDLES;
use crate::config::{PluginConfig, mib};
use crate::observe::trace::SpanScope;
use crate::sandbox::{HostFuel, StoreLimiter, Suspension};

/// Entries of the resource table that an instance may keep between calls: streams, files and the like. Some, such as
/// streams, hold much memory of the host that is not counted for the instance.
const MAX_KEPT_HANDLES: usize = 64;

/// How often a guest may list its granted directories before their entries count towards [`MAX_KEPT_HANDLES`]: once
/// itself and once by an adapter. Each listing adds an entry for every directory, which stays.
const DIR_LISTINGS: usize = 2;

impl InstanceCtx {
    /// The state of a fresh instance, for the first call of the caller whom it serves.
    ///
    /// # Errors
    /// When a granted directory is gone, or no memory is left for another instance.
    pub(crate) fn new(
        plugin: &Arc<PluginCtx>,
        caller: &Caller,
        suspension: Suspension,
    ) -> wasmtime::Result<Self> {
        let PluginConfig { grants, limits, .. } = &plugin.config;
        let transfer = mib(limits.transfer_mib);
        let host_fuel = HostFuel::of_instance(limits.fuel, plugin.memory.host_call(transfer));
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES as usize);
        let logs = OnceLock::new();
        let wasi = match grants.filesystem.as_slice() {
            [] => LazyWasiCtx::default(),
            dirs => {
                let dirs = filesystem::preopen(dirs)?;
                LazyWasiCtx::with_dirs(dirs, grants, guest_log(&logs, plugin), &host_fuel)
            }
        };
        Ok(Self {
            wasi,
            table,
            current_call: CurrentCall::default(),
            instance: None,
            call_tool: None,
            served: 0,
            limiter: StoreLimiter::new(limits, plugin.memory.instance()?),
            capabilities: PerInstance::new(plugin, caller),
            host_fuel,
            logs,
            transfer,
            handle_memory: HandleMemory::new(transfer),
            suspension,
            request_budget: RequestBudget::new(limits.client_requests),
            denials: OnceLock::new(),
            trace: None,
            plugin: Arc::clone(plugin),
            announces: true,
        })
    }

    /// Ends the call. `true`: the instance may serve another call. `false`: something of the call goes on, or the
    /// instance has taken so much memory or so many handles that the next call or other instances would lack them.
    pub(crate) fn end_call(&mut self) -> bool {
        self.current_call.end();
        self.set_trace(None);
        self.wasi.end_lines();
        self.suspension.end();
        self.host_fuel.end();
        let has_memory = self.handle_memory.count(&mut self.table, self.limiter.instance_memory());
        let is_quiet = self.announces && self.capabilities.is_quiet();
        let max_handles = MAX_KEPT_HANDLES + DIR_LISTINGS * self.plugin.config.grants.filesystem.len();
        let is_light = !self.limiter.is_nearly_full() && self.table.iter_mut().count() <= max_handles;
        self.instance.is_some() && has_memory && is_quiet && is_light
    }

    /// Begins another call of the same caller in the same instance. Memory and handles of the guest stay as they are,
    /// and count.
    pub(crate) fn begin_call(&mut self, caller: &Caller, suspension: Suspension) {
        let limits = &self.plugin.config.limits;
        self.host_fuel.begin_again();
        if let Some(logs) = self.logs.get() {
            logs.reset_for_next_call(limits);
        }
        self.limiter.begin_again();
        self.request_budget = RequestBudget::new(limits.client_requests);
        self.denials = OnceLock::new();
        self.capabilities.begin_call(&self.plugin, caller);
        self.suspension = suspension;
    }

    /// What the call does from now on is recorded in this span.
    pub(crate) fn set_trace(&mut self, trace: Option<SpanScope>) {
        if let Some(denials) = self.denials.get() {
            denials.set_trace(trace.clone());
        }
        if let Some(http) = &mut self.capabilities.http {
            http.set_trace(trace.clone());
        }
        self.trace = trace;
    }

    /// From now on the changes that the guest announces are ignored.
    pub(crate) fn ignore_changes(&mut self) {
        self.announces = false;
    }
}
