//! Functions for the fuzz targets in `tests/fuzz`: request state and digest. They are hidden and always compiled: a
//! cargo feature would make the tests build this package twice, and unused functions cost nothing.

use std::time::Duration;

use serde_json::value::RawValue;

use super::client_requests::request_digest;
use super::method::Method;
use super::mrtr::request_state::RequestStateKey;

/// Signs and verifies `requestState`.
#[derive(Debug)]
pub struct RequestState(RequestStateKey);

impl RequestState {
    /// Makes a new key. Returns `None` when the system has no randomness.
    #[must_use]
    pub fn new() -> Option<Self> {
        RequestStateKey::new().map(Self)
    }

    /// Makes a token for a suspended call; the token expires after `max_wait`.
    #[must_use]
    pub fn sign(&self, id: [u8; 16], max_wait: Duration) -> String {
        self.0.sign(id, max_wait)
    }

    /// Returns the id of the call, and whether the token has expired; `None` if the token was not signed with this key.
    #[must_use]
    pub fn verify(&self, token: &str) -> Option<([u8; 16], bool)> {
        self.0.verify(token).map(|verified| (verified.id, verified.expired))
    }
}

/// The digest that binds a suspended call to this request.
#[must_use]
pub fn request_digest(method: &str, params: Option<&RawValue>) -> [u8; 32] {
    request_digest::compute(&Method::parse(method), params)
}
