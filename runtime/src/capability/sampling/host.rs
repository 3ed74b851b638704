//! `plugport:plugin/sampling`: asks the client's model.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::budget::CallBudget;
use crate::bindings::plugport::plugin::sampling::Host;
use crate::bindings::plugport::plugin::types::Error;
use crate::capability::{Call, HostCallError, InstanceCtx, PluginCtx};
use crate::host::ClientRequestBody;

impl Host for InstanceCtx {
    async fn create_message(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        params: String,
    ) -> Result<String, HostCallError> {
        self.send_client_request(call, key, ClientRequestBody::CreateMessage(params)).await
    }
}

/// Whether the plugin may ask this; what it is counted as, tokens.
pub(in crate::capability) fn check(state: &mut InstanceCtx, params: &str) -> Result<u64, Error> {
    let plugin = Arc::clone(&state.plugin);
    match &plugin.capabilities.sampling {
        Some(hourly) => state.capabilities.sampling.sample(hourly, params),
        None => Err(state.deny_request("sampling")),
    }
}

/// A request that was counted as so many tokens did not reach the model.
pub(in crate::capability) fn refund(plugin: &PluginCtx, tokens: u64) {
    if let Some(hourly) = &plugin.capabilities.sampling {
        CallBudget::refund(hourly, tokens);
    }
}
