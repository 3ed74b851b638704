//! The plugin's key-value store: the standard interface `wasi:keyvalue`.
//!
//! Each call gets a fresh instance, so this store is the plugin's only memory between calls. No other plugin sees it.
//! The operator may give each caller a store of its own; then a call finds what its caller stored, the functions that
//! list items find nothing of it, and a caller without credentials gets `Denied`.
//! In a component the host has the store; elsewhere each thread has a store of its own, so that a test begins with an
//! empty one.
//!
//! ```
//! use plugport_sdk::kv;
//!
//! let store = kv::open()?;
//! store.set("greeting", "hello")?;
//! assert_eq!(store.get_text("greeting")?.as_deref(), Some("hello"));
//! assert_eq!(store.increment("calls", 1)?, 1);
//! let seen: Vec<u32> = store.update_json("seen", |old: Option<Vec<u32>>| {
//!     let mut seen = old.unwrap_or_default();
//!     seen.push(7);
//!     seen
//! })?;
//! assert_eq!(seen, [7]);
//! # Ok::<(), plugport_sdk::Error>(())
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

#[cfg(target_family = "wasm")]
#[path = "host.rs"]
mod backend;
#[cfg(not(target_family = "wasm"))]
#[path = "memory.rs"]
mod backend;

#[cfg(not(target_family = "wasm"))]
pub(crate) use backend::set_denied;

/// The maximum number of attempts of an update when other calls write the same key.
const ATTEMPTS: usize = 100;

/// Opens the plugin's store.
///
/// # Errors
/// `Denied` when the server's operator does not grant `kv` to the plugin, or grants it for each caller and the caller
/// is not known.
pub fn open() -> Result<Store, Error> {
    Ok(Store { bucket: backend::open()? })
}

/// The plugin's store: values by key.
#[derive(Debug)]
pub struct Store {
    bucket: backend::Bucket,
}

/// Each method fails with `Denied` when the operator revokes the grant, and with `Internal` when the store fails or
/// its quota is used up.
#[expect(clippy::missing_errors_doc, reason = "said once for all")]
impl Store {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        self.bucket.get(key)
    }

    /// The value of a key that is text; anything else is `Internal`.
    pub fn get_text(&self, key: &str) -> Result<Option<String>, Error> {
        let value = self.get(key)?.map(String::from_utf8).transpose();
        value.map_err(|_| Error::Internal(format!("what is stored under `{key}` is not text")))
    }

    /// The value of a key that holds JSON of this type; anything else is `Internal`.
    pub fn get_json<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        self.get(key)?.map(|value| from_json(key, &value)).transpose()
    }

    /// Sets the value of a key: text or bytes.
    pub fn set(&self, key: &str, value: impl AsRef<[u8]>) -> Result<(), Error> {
        self.bucket.set(key, value.as_ref())
    }

    /// Sets the value of a key to JSON.
    pub fn set_json<T: Serialize + ?Sized>(&self, key: &str, value: &T) -> Result<(), Error> {
        self.set(key, to_json(key, value)?)
    }

    /// Removes a key, if it is there.
    pub fn delete(&self, key: &str) -> Result<(), Error> {
        self.bucket.delete(key)
    }

    /// Whether a key has a value.
    pub fn exists(&self, key: &str) -> Result<bool, Error> {
        self.bucket.exists(key)
    }

    /// All keys, in no fixed order.
    pub fn keys(&self) -> Result<Vec<String>, Error> {
        self.bucket.keys()
    }

    /// Adds to a number and returns the sum; a missing number counts as 0. Concurrent additions are not lost.
    pub fn increment(&self, key: &str, by: i64) -> Result<i64, Error> {
        self.bucket.increment(key, by)
    }

    /// Replaces a value by the value that `change` makes of it, and returns the new value.
    ///
    /// If another call writes the key meanwhile, `change` is called again with the newly written value; so `change`
    /// should have no side effects. `Internal` when all attempts fail for this reason.
    pub fn update<V: AsRef<[u8]>>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<Vec<u8>>) -> V,
    ) -> Result<V, Error> {
        self.try_update(key, |old| Ok(change(old)))
    }

    /// The same for JSON.
    pub fn update_json<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<T>) -> T,
    ) -> Result<T, Error> {
        let mut latest = None;
        self.try_update(key, |old| {
            let old = old.map(|value| from_json(key, &value)).transpose()?;
            let value = latest.insert(change(old));
            to_json(key, value)
        })?;
        latest.ok_or_else(|| Error::Internal(format!("`{key}` was not updated")))
    }

    fn try_update<V: AsRef<[u8]>>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<Vec<u8>>) -> Result<V, Error>,
    ) -> Result<V, Error> {
        let mut swap = self.bucket.swap(key)?;
        for _ in 0..ATTEMPTS {
            let value = change(swap.current()?)?;
            match swap.finish(value.as_ref())? {
                None => return Ok(value),
                Some(again) => swap = again,
            }
        }
        Err(Error::Internal(format!("`{key}` could not be updated, since others kept writing it")))
    }
}

fn to_json<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value)
        .map_err(|error| Error::Internal(format!("the value for `{key}` cannot be written as JSON: {error}")))
}

fn from_json<T: DeserializeOwned>(key: &str, value: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(value)
        .map_err(|error| Error::Internal(format!("what is stored under `{key}` cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_and_removed() {
        let store = open().unwrap();
        store.set("a", [0xff]).unwrap();
        store.set_json("b", &[1, 2]).unwrap();
        assert_eq!(open().unwrap().get("a").unwrap(), Some(vec![0xff]));
        assert_eq!(store.get_json("b").unwrap(), Some(vec![1, 2]));
        assert_eq!(store.keys().unwrap(), ["a", "b"]);
        store.delete("a").unwrap();
        store.delete("a").unwrap();
        assert!(!store.exists("a").unwrap() && store.exists("b").unwrap());
        assert_eq!(store.get_text("a").unwrap(), None);
    }

    #[test]
    fn a_value_of_another_kind_is_an_error_and_stays() {
        let store = open().unwrap();
        store.set("a", [0xff]).unwrap();
        let rejected = store.get_text("a").unwrap_err();
        assert_eq!(rejected.to_string(), "what is stored under `a` is not text");
        assert!(store.get_json::<u8>("a").is_err());
        assert!(store.increment("a", 1).is_err());
        assert!(store.update_json::<u8>("a", |_| 1).is_err());
        assert_eq!(store.get("a").unwrap(), Some(vec![0xff]));
    }

    #[test]
    fn numbers_are_added_up() {
        let store = open().unwrap();
        assert_eq!(store.increment("n", 5), Ok(5));
        assert_eq!(store.increment("n", -7), Ok(-2));
        store.set("big", i64::MAX.to_string()).unwrap();
        assert!(store.increment("big", 1).is_err());
    }

    #[test]
    fn an_update_is_made_again_on_what_another_wrote_meanwhile() {
        let store = open().unwrap();
        store.set("n", "1").unwrap();
        let mut disturbed = false;
        let sum = store.update_json("n", |old: Option<u32>| {
            if !disturbed {
                disturbed = true;
                open().unwrap().set("n", "10").unwrap();
            }
            old.unwrap_or(0) + 1
        });
        assert_eq!(sum, Ok(11));
        assert_eq!(store.get_text("n").unwrap().as_deref(), Some("11"));
    }

    #[test]
    fn an_update_gives_up_when_others_keep_writing() {
        let store = open().unwrap();
        let mut n = 0;
        let rejected = store.update("n", |_| {
            n += 1;
            open().unwrap().set("n", n.to_string()).unwrap();
            "mine"
        });
        assert!(rejected.unwrap_err().to_string().contains("others kept writing"));
        assert_eq!(n, ATTEMPTS);
    }
}
