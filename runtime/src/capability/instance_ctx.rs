//! The life of an [`InstanceCtx`]: how it is made, ends a call and begins another. That joins all parts of an instance; the layer
//! `plugin` does it, and no host function.

use std::sync::Arc;

use wasmtime::component::ResourceTable;

use super::client_requests::RequestBudget;
use super::context::current_call::CurrentCall;
use super::context::denial_log::DenialLog;
use super::context::handle_memory::HandleMemory;
use super::context::wasi_ctx;
use super::lifetimes::InstanceParts;
use super::{InstanceCtx, PerInstance, PluginCtx};
use crate::config::fixed_limits::HANDLES;
use crate::config::{PluginConfig, mib};
use crate::host::{GuestLog, GuestOutput};
use crate::sandbox::{HostFuel, StoreLimiter, Suspension};

/// Entries of the resource table that an instance may keep between calls: streams, files and the like. Some, such as
/// streams, hold much memory of the host that is not counted for the instance.
const LEFT: usize = 64;

/// How often a guest may ask for its directories before they count among these: once itself and once by an adapter.
/// Each time every one of them has an entry, which stays.
const LOOKS: usize = 2;

impl InstanceCtx {
    /// The state of a fresh instance, for its first call.
    ///
    /// # Errors
    /// When a granted directory has gone, or no memory is left for another instance.
    pub(crate) fn new(plugin: &Arc<PluginCtx>, waiting: Suspension) -> wasmtime::Result<Self> {
        let PluginConfig { grants, limits, .. } = &plugin.config;
        let (rate, redactor) = (Arc::clone(&plugin.log_rate), grants.config.secrets.redactor().clone());
        let logs = GuestLog::new(Arc::clone(&plugin.name), rate, limits, redactor);
        let transfer = mib(limits.transfer_mib);
        let meter = HostFuel::of_instance(limits.fuel, plugin.memory.host_call(transfer));
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES as usize);
        let denials = DenialLog::default();
        let output = GuestOutput::new(&logs, &meter);
        let parts = InstanceParts { meter: &meter, denials: &denials };
        Ok(Self {
            wasi: wasi_ctx::build(grants, &output)?,
            output,
            table,
            current_call: CurrentCall::default(),
            instance: None,
            served: 0,
            limiter: StoreLimiter::new(limits, plugin.memory.instance()?),
            capabilities: PerInstance::new(plugin, &parts),
            meter,
            logs,
            transfer,
            handle_memory: HandleMemory::new(transfer),
            waiting,
            request_budget: RequestBudget::new(limits),
            denials,
            plugin: Arc::clone(plugin),
            announces: true,
        })
    }

    /// The call is over and the instance is to serve another. `false`: it may not, since something of the call goes on,
    /// or since it has taken so much that the next call, or others, would lack it.
    pub(crate) fn end_call(&mut self) -> bool {
        self.current_call.end();
        self.output.end_lines();
        self.waiting.end();
        self.meter.end();
        let is_counted = self.handle_memory.count(&mut self.table, self.limiter.instance_memory());
        let is_quiet = self.announces && self.capabilities.is_quiet();
        let may_leave = LEFT + LOOKS * self.plugin.config.grants.filesystem.len();
        let is_light = !self.limiter.is_nearly_full() && self.table.iter_mut().count() <= may_leave;
        self.instance.is_some() && is_counted && is_quiet && is_light
    }

    /// Begins another call in the same instance. What the guest holds stays as it is, and counts.
    pub(crate) fn begin_call(&mut self, waiting: Suspension) {
        let limits = &self.plugin.config.limits;
        self.meter.begin_again();
        self.logs.reset_for_next_call(limits);
        self.limiter.begin_again();
        self.request_budget = RequestBudget::new(limits);
        self.denials = DenialLog::default();
        let parts = InstanceParts { meter: &self.meter, denials: &self.denials };
        self.capabilities.begin_call(&self.plugin, &parts);
        self.waiting = waiting;
    }

    /// From here on the guest's words of a change are not heard.
    pub(crate) fn ignore_changes(&mut self) {
        self.announces = false;
    }
}
