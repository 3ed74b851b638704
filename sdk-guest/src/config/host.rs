//! The values that the host has.

use crate::Error;
use crate::bindings::config::store;

pub(super) fn get(key: &str) -> Result<Option<String>, Error> {
    store::get(key).map_err(failed)
}

pub(super) fn all() -> Result<Vec<(String, String)>, Error> {
    store::get_all().map_err(failed)
}

fn failed(error: store::Error) -> Error {
    let (store::Error::Upstream(reason) | store::Error::Io(reason)) = error;
    Error::Internal(format!("the configuration cannot be read: {reason}"))
}
