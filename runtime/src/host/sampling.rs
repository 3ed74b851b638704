//! `plugport:plugin/sampling`. Not bridged to clients yet: every guest gets the same typed denial.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::sampling::Host;

use super::failure::denied;
use super::{Call, Failure, State};

impl Host for State {
    async fn create_message(
        &mut self,
        _: Resource<Call>,
        _: Option<String>,
        params: String,
    ) -> Result<String, Failure> {
        self.meter.charge(params.len()).await?;
        Err(denied("sampling"))
    }
}
