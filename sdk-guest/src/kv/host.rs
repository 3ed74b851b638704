//! The store that the host keeps.

use crate::Error;
use crate::bindings::keyvalue::{atomics, store};

#[derive(Debug)]
pub(super) struct Bucket(store::Bucket);

pub(super) struct Swap(atomics::Cas);

pub(super) fn open() -> Result<Bucket, Error> {
    store::open("default").map(Bucket).map_err(failed)
}

impl Bucket {
    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        self.0.get(key).map_err(failed)
    }

    pub(super) fn set(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.0.set(key, value).map_err(failed)
    }

    pub(super) fn delete(&self, key: &str) -> Result<(), Error> {
        self.0.delete(key).map_err(failed)
    }

    pub(super) fn exists(&self, key: &str) -> Result<bool, Error> {
        self.0.exists(key).map_err(failed)
    }

    pub(super) fn keys(&self) -> Result<Vec<String>, Error> {
        let mut keys = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.0.list_keys(cursor.as_deref()).map_err(failed)?;
            keys.extend(page.keys);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(keys);
            }
        }
    }

    pub(super) fn increment(&self, key: &str, by: i64) -> Result<i64, Error> {
        atomics::increment(&self.0, key, by).map_err(failed)
    }

    pub(super) fn swap(&self, key: &str) -> Result<Swap, Error> {
        atomics::Cas::new(&self.0, key).map(Swap).map_err(failed)
    }
}

impl Swap {
    pub(super) fn current(&self) -> Result<Option<Vec<u8>>, Error> {
        self.0.current().map_err(failed)
    }

    /// Writes the value; if another call wrote the key meanwhile, returns the next attempt.
    pub(super) fn finish(self, value: &[u8]) -> Result<Option<Self>, Error> {
        match atomics::swap(self.0, value) {
            Ok(()) => Ok(None),
            Err(atomics::CasError::CasFailed(again)) => Ok(Some(Self(again))),
            Err(atomics::CasError::StoreError(error)) => Err(failed(error)),
        }
    }
}

fn failed(error: store::Error) -> Error {
    match error {
        store::Error::AccessDenied => {
            let why = "this server does not grant `kv` to the plugin, or only for callers with credentials";
            Error::Denied(why.to_owned())
        }
        store::Error::NoSuchStore => Error::Internal("this server has no key-value store".to_owned()),
        store::Error::Other(reason) => Error::Internal(format!("the key-value store failed: {reason}")),
    }
}
