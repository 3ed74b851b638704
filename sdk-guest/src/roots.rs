//! The interface `roots`: the folders in which the client's user works.

use serde::Deserialize;

use crate::ask::{self, Asked, Keyed, Question};
use crate::bindings::roots as wit;
use crate::{Call, Error};

pub use crate::bindings::roots::Root;

#[derive(Deserialize)]
struct Listed {
    roots: Vec<Given>,
}

#[derive(Deserialize)]
struct Given {
    uri: String,
    name: Option<String>,
}

impl Call {
    /// Asks the client for its user's folders, which are `file://` URIs with or without names.
    ///
    /// # Errors
    /// `MissingCapability` when the client has no roots, `Denied` when the plugin may not ask.
    pub fn roots(&self) -> Result<Vec<Root>, Error> {
        list(self, None)
    }
}

impl Keyed<'_> {
    /// As [`Call::roots`].
    ///
    /// # Errors
    /// Those of [`Call::roots`].
    pub fn roots(self) -> Result<Vec<Root>, Error> {
        list(self.call, Some(self.key))
    }
}

fn list(call: &Call, key: Option<&str>) -> Result<Vec<Root>, Error> {
    match call.asked() {
        Asked::Host(handle) => wit::list_roots(handle, key),
        Asked::Script(script) => parse(&script.answer(key, &Question::ListRoots)?),
    }
}

/// The roots in the result of `roots/list`.
pub(crate) fn parse(answer: &str) -> Result<Vec<Root>, Error> {
    let listed: Listed = ask::read(answer)?;
    Ok(listed.roots.into_iter().map(|Given { uri, name }| Root { uri, name }).collect())
}
