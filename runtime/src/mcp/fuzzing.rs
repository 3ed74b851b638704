//! Request state and digest, for the fuzz targets in `tests/fuzz`. Hidden, and always compiled: a feature would make
//! the tests build this package twice, and unused functions cost nothing.

use std::time::Duration;

use serde_json::value::RawValue;

use super::client_requests::request_digest;
use super::method::Method;
use super::mrtr::request_state::RequestStateKey;

/// Signs and verifies `requestState`.
#[derive(Debug)]
pub struct RequestState(RequestStateKey);

impl RequestState {
    /// Uses a new key. `None` when the system has no randomness.
    #[must_use]
    pub fn new() -> Option<Self> {
        RequestStateKey::new().map(Self)
    }

    /// A token for a suspended call, which expires after `max_wait`.
    #[must_use]
    pub fn sign(&self, id: [u8; 16], max_wait: Duration) -> String {
        self.0.sign(id, max_wait)
    }

    /// The id of the call, and whether the token has expired.
    #[must_use]
    pub fn verify(&self, token: &str) -> Option<([u8; 16], bool)> {
        self.0.verify(token).map(|verified| (verified.id, verified.expired))
    }
}

/// The digest to which a suspended call of this request is bound.
#[must_use]
pub fn request_digest(method: &str, params: Option<&RawValue>) -> [u8; 32] {
    request_digest::compute(&Method::parse(method), params)
}
