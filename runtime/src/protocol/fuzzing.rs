//! What guards a retry, for the fuzz targets in `tests/fuzz`. Hidden, and always compiled: behind a feature this package
//! would be built once more for the tests, and a door that is used by nobody costs nothing.

use std::time::Duration;

use serde_json::value::RawValue;

use super::asking::binding;
use super::asking::seal::Seal;
use super::method::Method;

/// Seals and opens `requestState`.
#[derive(Debug)]
pub struct RequestState(Seal);

impl RequestState {
    /// With a fresh key. `None` when the system has no randomness.
    #[must_use]
    pub fn new() -> Option<Self> {
        Seal::new().map(Self)
    }

    /// Seals a handle for this long.
    #[must_use]
    pub fn close(&self, handle: [u8; 16], lasts: Duration) -> String {
        self.0.close(handle, lasts)
    }

    /// The handle, and whether it has expired.
    #[must_use]
    pub fn open(&self, sealed: &str) -> Option<([u8; 16], bool)> {
        self.0.open(sealed).map(|opened| (opened.handle, opened.expired))
    }
}

/// What a parked call of this request would be bound to.
#[must_use]
pub fn binding(principal: Option<&str>, method: &str, params: Option<&RawValue>) -> [u8; 32] {
    binding::of(principal, &Method::parse(method), params)
}
