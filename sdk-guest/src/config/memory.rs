//! Values in memory, for tests: each thread has its own.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Error;

thread_local! {
    static SETTINGS: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
    static SECRETS: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

pub(crate) fn set(values: BTreeMap<String, String>) {
    SETTINGS.set(values);
}

pub(crate) fn set_secrets(values: BTreeMap<String, String>) {
    SECRETS.set(values);
}

#[expect(clippy::unnecessary_wraps, reason = "the host may fail")]
pub(super) fn get(key: &str) -> Result<Option<String>, Error> {
    let secret = SECRETS.with_borrow(|values| values.get(key).cloned());
    Ok(secret.or_else(|| SETTINGS.with_borrow(|values| values.get(key).cloned())))
}

#[expect(clippy::unnecessary_wraps, reason = "the host may fail")]
pub(super) fn all() -> Result<Vec<(String, String)>, Error> {
    Ok(SETTINGS.with_borrow(|values| values.clone().into_iter().collect()))
}
