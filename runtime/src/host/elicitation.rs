//! `plugport:plugin/elicitation`: asks the person at the client.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::elicitation::Host;

use super::client_port::QuestionBody;
use super::{Call, Failure, State};

impl Host for State {
    async fn elicit(
        &mut self,
        call: Resource<Call>,
        key: Option<String>,
        params: String,
    ) -> Result<String, Failure> {
        self.ask_one(call, key, QuestionBody::Elicit(params)).await
    }
}
