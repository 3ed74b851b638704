//! Values in memory, for tests: each thread has its own.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Error;

thread_local! {
    static VALUES: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

pub(crate) fn set(values: BTreeMap<String, String>) {
    VALUES.set(values);
}

#[expect(clippy::unnecessary_wraps, reason = "the host may fail")]
pub(super) fn get(key: &str) -> Result<Option<String>, Error> {
    Ok(VALUES.with_borrow(|values| values.get(key).cloned()))
}

#[expect(clippy::unnecessary_wraps, reason = "the host may fail")]
pub(super) fn all() -> Result<Vec<(String, String)>, Error> {
    Ok(VALUES.with_borrow(|values| values.clone().into_iter().collect()))
}
