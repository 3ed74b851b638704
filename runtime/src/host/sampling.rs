//! `plugport:plugin/sampling`: asks the client's model.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::sampling::Host;

use super::client_port::QuestionBody;
use super::{Call, Failure, State};

impl Host for State {
    async fn create_message(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        params: String,
    ) -> Result<String, Failure> {
        self.ask_one(call, key, QuestionBody::CreateMessage(params)).await
    }
}
