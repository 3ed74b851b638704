//! `plugport:plugin/roots`. Not bridged to clients yet: every guest gets the same typed denial.

use wasmtime::component::Resource;

use crate::bindings::plugport::plugin::roots::{Host, Root};

use super::failure::denied;
use super::{Call, Failure, State};

impl Host for State {
    async fn list_roots(&mut self, _: Resource<Call>, _: Option<String>) -> Result<Vec<Root>, Failure> {
        self.meter.charge(0).await?;
        Err(denied("roots"))
    }
}
