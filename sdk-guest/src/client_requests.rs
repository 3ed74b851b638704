//! What the requests of a call to its client have in common: their parameters, their keys and their results.

use serde::de::DeserializeOwned;

use crate::{Call, Error};

/// A request with its parameters in JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ClientRequest {
    CreateMessage(String),
    Elicit(String),
    ListRoots,
}

/// A call whose next client request has a key. [`Call::keyed`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct KeyedCall<'c> {
    pub(crate) call: &'c Call,
    pub(crate) key: &'c str,
}

impl Call {
    /// Gives the next client request a key, which clients of the revision 2026-07-28 see:
    /// `call.keyed("city").elicit::<City>("Where?")`.
    ///
    /// Without this the host picks a key, so a key is only useful for clients that expect it. A key may be used once in
    /// a call.
    pub const fn keyed<'c>(&'c self, key: &'c str) -> KeyedCall<'c> {
        KeyedCall { call: self, key }
    }
}

/// Reads a client's result.
pub(crate) fn read<T: DeserializeOwned>(result: &str) -> Result<T, Error> {
    serde_json::from_str(result)
        .map_err(|error| Error::Internal(format!("the client's answer cannot be read: {error}")))
}
