//! `plugport:plugin/elicitation`. Not bridged to clients yet: every guest gets the same typed denial.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::elicitation::Host;

use super::failure::denied;
use super::{Call, Failure, State};

impl Host for State {
    async fn elicit(
        &mut self,
        _: Resource<Call>,
        _: Option<String>,
        params: String,
    ) -> Result<String, Failure> {
        self.meter.charge(params.len()).await?;
        Err(denied("elicitation"))
    }
}
