//! `plugport:plugin/sampling`: asks the client's model.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::sampling::Host;

use super::client::ClientRequestBody;
use super::{Call, HostCallError, InstanceCtx};

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
