//! The interface `roots`: the folders in which the client's user works.

use serde::Deserialize;

use crate::bindings::roots as wit;
use crate::call::CallBackend;
use crate::client_requests::{self, ClientRequest, KeyedCall};
use crate::{Call, Error};

pub use crate::bindings::roots::Root;

#[derive(Deserialize)]
struct ListRootsResult {
    roots: Vec<RootEntry>,
}

#[derive(Deserialize)]
struct RootEntry {
    uri: String,
    name: Option<String>,
}

impl Call {
    /// Asks the client for its user's folders, which are `file://` URIs with or without names.
    ///
    /// # Errors
    /// `MissingCapability` when the client has no roots, `Denied` when the plugin has no grant.
    pub fn roots(&self) -> Result<Vec<Root>, Error> {
        list(self, None)
    }
}

impl KeyedCall<'_> {
    /// As [`Call::roots`].
    ///
    /// # Errors
    /// Those of [`Call::roots`].
    pub fn roots(self) -> Result<Vec<Root>, Error> {
        list(self.call, Some(self.key))
    }
}

fn list(call: &Call, key: Option<&str>) -> Result<Vec<Root>, Error> {
    match call.backend().as_ref() {
        CallBackend::Host(handle) => wit::list_roots(handle, key),
        CallBackend::Test(client) => parse(&client.respond(key, &ClientRequest::ListRoots)?),
    }
}

/// The roots in the result of `roots/list`.
pub(crate) fn parse(result: &str) -> Result<Vec<Root>, Error> {
    let listed: ListRootsResult = client_requests::read(result)?;
    Ok(listed.roots.into_iter().map(|RootEntry { uri, name }| Root { uri, name }).collect())
}
