//! `plugport:plugin/inputs`: several client requests in one round trip. The capability of each request checks it.

use wasmtime::component::{HasSelf, Linker, Resource};

use super::sampling::ReservedTokens;
use super::{Call, HostCallError, InstanceCtx, elicitation, roots, sampling};
use crate::bindings::plugport::plugin::inputs::{self as wit, Body, Host, InputRequest, InputResponse};
use crate::bindings::plugport::plugin::types::Error;
use crate::call_env::{ClientRequest, ClientRequestBody};

/// What a request takes in the list that a guest hands over, beside its text, bytes.
const ENTRY_SIZE: usize = 64;

/// Links the interface.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    wit::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
}

impl Host for InstanceCtx {
    async fn request_inputs(
        &mut self,
        call: Resource<Call>,
        requests: Vec<InputRequest>,
    ) -> Result<Vec<InputResponse>, HostCallError> {
        // Checked first, since a list may be as long as one host call can hand over. It is dropped before the charge
        // may wait.
        if let Err(error) = self.check_count(requests.len()) {
            let work = requests.len().saturating_mul(ENTRY_SIZE);
            drop(requests);
            self.host_fuel.charge_work(work, 0).await?;
            return Err(error.into());
        }
        let keys: Vec<String> = requests.iter().map(|request| request.key.clone()).collect();
        let requests = requests.into_iter().map(|request| ClientRequest {
            key: Some(request.key),
            body: match request.body {
                Body::CreateMessage(params) => ClientRequestBody::CreateMessage(params),
                Body::Elicit(params) => ClientRequestBody::Elicit(params),
                Body::ListRoots => ClientRequestBody::ListRoots,
            },
        });
        let outcomes = self.send_client_requests(call, requests.collect(), check).await?;
        Ok(keys.into_iter().zip(outcomes).map(|(key, outcome)| InputResponse { key, outcome }).collect())
    }
}

/// Whether one request may be sent, and what was counted for it.
fn check(state: &mut InstanceCtx, body: &ClientRequestBody) -> Result<Option<ReservedTokens>, Error> {
    match body {
        ClientRequestBody::CreateMessage(params) => sampling::check(state, params).map(Some),
        ClientRequestBody::Elicit(_) => elicitation::check(state).map(|()| None),
        ClientRequestBody::ListRoots => roots::check(state).map(|()| None),
    }
}
