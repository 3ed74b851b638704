//! Counts of rare events, by names that are constants of this program.
//!
//! A lock and not atomics: the names that occur are few, and are not known in advance. Only denials and limits are
//! counted here; what happens in every call would contend for the lock.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Counts by name. The names are constants of this program, so the map stays small.
#[derive(Debug, Default)]
pub struct CountsByName(Mutex<BTreeMap<&'static str, u64>>);

impl CountsByName {
    /// Adds one to the count of this name.
    pub fn add(&self, name: &'static str) {
        *self.0.lock().entry(name).or_default() += 1;
    }

    /// The counts now.
    #[must_use]
    pub fn read(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().clone()
    }
}
