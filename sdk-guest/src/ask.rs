//! Who answers a call's questions, and how a question gets a name.
//!
//! The bridges to the host are functions and not methods of a port: an object with all of them would make every plugin
//! import every question, whether it asks or not. So a port only says who is asked, and each interface's own module goes
//! to the host by itself; what nobody asks, the linker drops, and the operator sees what a plugin would really need.

use serde::de::DeserializeOwned;

use crate::bindings::request;
use crate::{Call, Error};

/// Who is asked.
pub(crate) enum Asked<'a> {
    /// The client, through the host.
    Host(&'a request::Call),
    /// A test.
    Script(&'a dyn Script),
}

/// Stands in for the client.
pub(crate) trait Script {
    /// The result of the MCP request, in JSON.
    fn answer(&self, key: Option<&str>, question: &Question) -> Result<String, Error>;
}

/// A question with its parameters in JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    CreateMessage(String),
    Elicit(String),
    ListRoots,
}

/// A call whose next question has a name of its own. [`Call::keyed`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct Keyed<'c> {
    pub(crate) call: &'c Call,
    pub(crate) key: &'c str,
}

impl Call {
    /// Gives the next question a name, which clients of the revision 2026-07-28 see: `call.keyed("city").elicit::<City>("Where?")`.
    ///
    /// Without one the host picks a name, so this is only for clients that are told to expect one. A name may be used
    /// once in a call.
    pub const fn keyed<'c>(&'c self, key: &'c str) -> Keyed<'c> {
        Keyed { call: self, key }
    }
}

/// Reads a client's answer.
pub(crate) fn read<T: DeserializeOwned>(answer: &str) -> Result<T, Error> {
    serde_json::from_str(answer)
        .map_err(|error| Error::Internal(format!("the client's answer cannot be read: {error}")))
}
