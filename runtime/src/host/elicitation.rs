//! `plugport:plugin/elicitation`: asks the person at the client.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::elicitation::Host;

use super::client::ClientRequestBody;
use super::{Call, HostCallError, InstanceCtx};

impl Host for InstanceCtx {
    async fn elicit(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        params: String,
    ) -> Result<String, HostCallError> {
        self.send_client_request(call, key, ClientRequestBody::Elicit(params)).await
    }
}
