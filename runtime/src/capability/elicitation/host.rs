//! `plugport:plugin/elicitation`: asks the user at the client.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::elicitation::Host;
use crate::bindings::plugport::plugin::types::Error;
use crate::capability::client_requests::Budget;
use crate::capability::{Call, HostCallError, InstanceCtx};
use crate::host::ClientRequestBody;

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

/// Whether the plugin may ask once more. Counts the request.
pub(in crate::capability) fn check(state: &mut InstanceCtx) -> Result<(), Error> {
    if !state.plugin.config.grants.elicitation.0 {
        return Err(state.deny_request("elicitation"));
    }
    count(&mut state.capabilities.elicitation)
}

fn count(left: &mut Budget) -> Result<(), Error> {
    let most = left.most;
    let over = || format!("a call may send at most {most} elicitation requests");
    left.spend(1).then_some(()).ok_or_else(|| Error::OverBudget(over()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_is_not_asked_without_end() {
        let mut left = Budget::new(1);
        assert!(count(&mut left).is_ok());
        assert!(count(&mut left).is_err());
    }
}
