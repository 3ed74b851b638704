//! The plugin's settings, from its operator: the standard interface `wasi:config`.
//!
//! An operator writes values under `config` and `secrets` of the plugin's grants; a plugin reads both by name in the
//! same way. A value that is not set is `None`, so that a plugin works without it. In a component the host has the
//! values; elsewhere each thread has its own, which a test sets with [`testing::configure`](crate::testing::configure)
//! and [`testing::configure_secrets`](crate::testing::configure_secrets).
//!
//! ```
//! use plugport_sdk::{config, testing};
//!
//! testing::configure([("region", "eu"), ("retries", "3")]);
//! assert_eq!(config::get("region")?.as_deref(), Some("eu"));
//! assert_eq!(config::parse::<u32>("retries")?, Some(3));
//! assert_eq!(config::get("token")?, None);
//! assert!(config::require("token").is_err());
//! # Ok::<(), plugport_sdk::Error>(())
//! ```

use std::str::FromStr;

use crate::Error;

#[cfg(target_family = "wasm")]
#[path = "host.rs"]
mod backend;
#[cfg(not(target_family = "wasm"))]
#[path = "memory.rs"]
mod backend;

#[cfg(not(target_family = "wasm"))]
pub(crate) use backend::{set, set_secrets};

/// The value of a key, if the operator set one.
///
/// # Errors
/// `Internal` when the host cannot read its settings.
pub fn get(key: &str) -> Result<Option<String>, Error> {
    backend::get(key)
}

/// The value of a key that the plugin cannot do without.
///
/// # Errors
/// `Internal`, with the key, when the operator did not set it.
pub fn require(key: &str) -> Result<String, Error> {
    let missing =
        || Error::Internal(format!("this plugin needs the setting `{key}`, which its operator has not made"));
    get(key)?.ok_or_else(missing)
}

/// The value of a key as another type: numbers and booleans are text here.
///
/// # Errors
/// `Internal`, with the key, when the value is of another type. The value is not repeated, since it may be a secret.
pub fn parse<T: FromStr>(key: &str) -> Result<Option<T>, Error> {
    let unfit = |_| Error::Internal(format!("the setting `{key}` is not what this plugin expects there"));
    get(key)?.map(|value| value.parse().map_err(unfit)).transpose()
}

/// All keys that are no secrets, with their values.
///
/// # Errors
/// `Internal` when the host cannot read its settings.
pub fn all() -> Result<Vec<(String, String)>, Error> {
    backend::all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_does_not_fit_is_not_repeated() {
        set([("retries".to_owned(), "hunter2".to_owned())].into());
        let error = parse::<u32>("retries").unwrap_err().to_string();
        assert!(error.contains("`retries`") && !error.contains("hunter2"), "{error}");
        assert_eq!(all().unwrap(), [("retries".to_owned(), "hunter2".to_owned())]);
        assert!(require("region").unwrap_err().to_string().contains("`region`"));
        set_secrets([("token".to_owned(), "hunter3".to_owned())].into());
        assert_eq!(get("token").unwrap().as_deref(), Some("hunter3"));
        assert_eq!(all().unwrap().len(), 1);
    }
}
