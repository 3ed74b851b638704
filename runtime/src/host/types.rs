//! `plugport:plugin/types`: records only, and how a host error becomes the guest's or a trap.

use crate::bindings::plugport::plugin::types::{Error, Host};

use super::{Failure, State};

impl Host for State {
    fn convert_error(&mut self, failure: Failure) -> wasmtime::Result<Error> {
        match failure {
            Failure::Guest(error) => Ok(error),
            Failure::Trap(error) => Err(error),
        }
    }
}
