//! Where the requests of a call to its client go, and how a request gets a key.
//!
//! The bridges to the host are functions and not methods of a [`CallBackend`](crate::call::CallBackend): an object with
//! all of them would make every plugin import sampling, elicitation and roots, whether it uses them or not. So a
//! backend only says where requests go, and each interface's own module calls the host. The linker drops unused
//! modules, and the operator sees which capabilities a plugin really uses.

use serde::de::DeserializeOwned;

use crate::bindings::request;
use crate::{Call, Error};

/// The receiver of a request.
pub(crate) enum RequestTarget<'a> {
    /// The client, through the host.
    Host(&'a request::Call),
    /// A test's client.
    Test(&'a dyn ScriptedClient),
}

/// Stands in for the client.
pub(crate) trait ScriptedClient {
    /// The result of the MCP request, in JSON.
    fn respond(&self, key: Option<&str>, request: &ClientRequest) -> Result<String, Error>;
}

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
