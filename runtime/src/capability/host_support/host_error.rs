//! A host function ends in one of two ways other than success: an error that the guest sees, or a trap that ends the
//! call. [`HostCallError`] names both.

use super::current_call::StaleCallHandle;
use crate::bindings::plugport::plugin::types::Error;
use crate::sandbox::ChargeError;

/// Why a host function did not succeed.
#[derive(Debug)]
pub enum HostCallError {
    /// The guest gets this.
    Guest(Error),
    /// The call ends.
    Trap(wasmtime::Error),
}

impl From<Error> for HostCallError {
    fn from(error: Error) -> Self {
        Self::Guest(error)
    }
}

impl From<ChargeError> for HostCallError {
    fn from(error: ChargeError) -> Self {
        Self::Trap(error.into())
    }
}

impl From<StaleCallHandle> for HostCallError {
    fn from(error: StaleCallHandle) -> Self {
        Self::Trap(error.into())
    }
}

/// A guest went beyond a limit in a function that has no error for it, so the call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("beyond the limit `{0}`")]
pub(crate) struct LimitTrap(pub(crate) &'static str);
