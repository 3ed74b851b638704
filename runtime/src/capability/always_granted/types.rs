//! `plugport:plugin/types`: records only, and how an error of a host function becomes the guest's error or a trap.

use crate::bindings::plugport::plugin::types::{Error, Host};

use crate::capability::{HostCallError, InstanceCtx};

impl Host for InstanceCtx {
    fn convert_error(&mut self, failure: HostCallError) -> wasmtime::Result<Error> {
        match failure {
            HostCallError::Guest(error) => Ok(error),
            HostCallError::Trap(error) => Err(error),
        }
    }
}
