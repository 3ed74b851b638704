//! `plugport:plugin/inputs`: several input requests in one round trip.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::inputs::{Body, Host, InputRequest, InputResponse};
use crate::capability::{Call, HostCallError, InstanceCtx};
use crate::host::{ClientRequest, ClientRequestBody};

/// What a request takes in the list that a guest hands over, beside its text, bytes.
const ENTRY: usize = 64;

impl Host for InstanceCtx {
    async fn request_inputs(
        &mut self,
        call: Resource<Call>,
        requests: Vec<InputRequest>,
    ) -> Result<Vec<InputResponse>, HostCallError> {
        // Before anything is made of them: there may be as many as one call can hand over. They are gone before anything waits.
        if let Err(error) = self.check_count(requests.len()) {
            let price = requests.len().saturating_mul(ENTRY);
            drop(requests);
            self.meter.charge_work(price, 0).await?;
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
        let outcomes = self.send_client_requests(call, requests.collect()).await?;
        Ok(keys.into_iter().zip(outcomes).map(|(key, outcome)| InputResponse { key, outcome }).collect())
    }
}
