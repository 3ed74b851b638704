//! `plugport:plugin/elicitation`: asks the user at the client.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::elicitation::Host;
use crate::bindings::plugport::plugin::types::Error;
use crate::call_env::ClientRequestBody;
use crate::capability::client_requests::RequestBudget;
use crate::capability::{Call, HostCallError, InstanceCtx};

impl Host for InstanceCtx {
    async fn elicit(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        params: String,
    ) -> Result<String, HostCallError> {
        self.send_client_request(call, key, ClientRequestBody::Elicit(params), |state, _| check(state)).await
    }
}

/// Whether the plugin may send one more elicitation request. Counts the request.
pub(in crate::capability) fn check(state: &mut InstanceCtx) -> Result<(), Error> {
    if !state.plugin.config.grants.elicitation.0 {
        return Err(state.deny_request("elicitation"));
    }
    count(&mut state.capabilities.elicitation)
}

fn count(budget: &mut RequestBudget) -> Result<(), Error> {
    let max = budget.max;
    let over = || format!("a call may send at most {max} elicitation requests");
    budget.spend(1).then_some(()).ok_or_else(|| Error::OverBudget(over()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_gets_a_bounded_number_of_requests() {
        let mut budget = RequestBudget::new(1);
        assert!(count(&mut budget).is_ok());
        assert!(count(&mut budget).is_err());
    }
}
