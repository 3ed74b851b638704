//! `plugport:plugin/sampling`: client requests to the client's model. A plugin keeps its hourly budget, an instance the
//! budget of its call.

mod budget;
pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::bindings::plugport::plugin::sampling as wit;
use crate::call_env::Caller;
use budget::{CallSamplingBudget, HourlySamplingBudget};
pub(crate) use budget::{SamplingBudgets, tokens};
pub(super) use host::{ReservedTokens, check};

/// Sampling.
pub(super) struct Sampling;

impl Capability for Sampling {
    type Granted = grant::Granted;
    /// `None` when it is not granted.
    type PerPlugin = Option<Arc<HourlySamplingBudget>>;
    type PerInstance = CallSamplingBudget;

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        wit::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
    }

    fn for_plugin(granted: &Self::Granted, plugin: &PluginParts<'_>) -> Self::PerPlugin {
        granted.map(|grant| plugin.server.sampling_budgets.for_plugin(plugin.name, grant))
    }

    fn for_instance(plugin: &Arc<PluginCtx>, _: &Caller) -> CallSamplingBudget {
        CallSamplingBudget::new(&plugin.config.limits)
    }
}
