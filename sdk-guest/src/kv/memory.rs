//! A store in memory, for tests: one per thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::Error;

thread_local! {
    static VALUES: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    static IS_DENIED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug)]
pub(super) struct Bucket;

pub(super) struct Swap {
    key: String,
    current: Option<Vec<u8>>,
}

/// Denies or grants the store on this thread. Returns whether it was denied before.
pub(crate) fn set_denied(is_denied: bool) -> bool {
    IS_DENIED.replace(is_denied)
}

pub(super) fn open() -> Result<Bucket, Error> {
    if IS_DENIED.get() {
        let why = "this server does not grant `kv` to the plugin, or only for callers with credentials";
        return Err(Error::Denied(why.to_owned()));
    }
    Ok(Bucket)
}

#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the host's bucket has state and may fail")]
impl Bucket {
    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(VALUES.with_borrow(|values| values.get(key).cloned()))
    }

    pub(super) fn set(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        VALUES.with_borrow_mut(|values| values.insert(key.to_owned(), value.to_vec()));
        Ok(())
    }

    pub(super) fn delete(&self, key: &str) -> Result<(), Error> {
        VALUES.with_borrow_mut(|values| values.remove(key));
        Ok(())
    }

    pub(super) fn exists(&self, key: &str) -> Result<bool, Error> {
        Ok(VALUES.with_borrow(|values| values.contains_key(key)))
    }

    pub(super) fn keys(&self) -> Result<Vec<String>, Error> {
        Ok(VALUES.with_borrow(|values| values.keys().cloned().collect()))
    }

    pub(super) fn increment(&self, key: &str, by: i64) -> Result<i64, Error> {
        let before = match self.get(key)? {
            None => Some(0),
            Some(value) => std::str::from_utf8(&value).ok().and_then(|text| text.parse::<i64>().ok()),
        };
        let sum = before
            .and_then(|number| number.checked_add(by))
            .ok_or_else(|| Error::Internal(format!("`{key}` is no number, or has no room for the sum")))?;
        self.set(key, sum.to_string().as_bytes())?;
        Ok(sum)
    }

    pub(super) fn swap(&self, key: &str) -> Result<Swap, Error> {
        Ok(Swap { key: key.to_owned(), current: self.get(key)? })
    }
}

impl Swap {
    #[expect(clippy::unnecessary_wraps, reason = "the host's may fail")]
    pub(super) fn current(&self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.current.clone())
    }

    /// Writes the value; if another call wrote the key meanwhile, returns the next attempt.
    pub(super) fn finish(self, value: &[u8]) -> Result<Option<Self>, Error> {
        let current = Bucket.get(&self.key)?;
        if current == self.current {
            return Bucket.set(&self.key, value).map(|()| None);
        }
        Ok(Some(Self { current, ..self }))
    }
}
