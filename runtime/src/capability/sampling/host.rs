//! `plugport:plugin/sampling`: client requests to the client's model.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::budget::{CallSamplingBudget, HourlySamplingBudget};
use crate::bindings::plugport::plugin::sampling::Host;
use crate::bindings::plugport::plugin::types::Error;
use crate::call_env::ClientRequestBody;
use crate::capability::client_requests::Reservation;
use crate::capability::{Call, HostCallError, InstanceCtx};

impl Host for InstanceCtx {
    async fn create_message(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        params: String,
    ) -> Result<String, HostCallError> {
        self.send_client_request(call, key, ClientRequestBody::CreateMessage(params), |state, body| {
            check(state, body.params())
        })
        .await
    }
}

/// The tokens that a request was counted as in its plugin's hourly budget.
pub(in crate::capability) struct ReservedTokens {
    hourly: Arc<HourlySamplingBudget>,
    tokens: u64,
}

impl Reservation for ReservedTokens {
    fn refund(self) {
        CallSamplingBudget::refund(&self.hourly, self.tokens);
    }
}

/// Whether the plugin may send this request. Counts the request.
pub(in crate::capability) fn check(state: &mut InstanceCtx, params: &str) -> Result<ReservedTokens, Error> {
    let Some(hourly) = state.plugin.capabilities.sampling.clone() else {
        return Err(state.deny_request("sampling"));
    };
    let tokens = state.capabilities.sampling.count(&hourly, params)?;
    Ok(ReservedTokens { hourly, tokens })
}
