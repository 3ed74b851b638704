//! Counts of rare events, by names that this program chooses.
//!
//! A lock and not atomics, since the names that occur are few and come with the event. It is for denials and limits,
//! and not for what every call does.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Counts by name. The names are constants of this program, so there are few.
#[derive(Debug, Default)]
pub struct CountsByName(Mutex<BTreeMap<&'static str, u64>>);

impl CountsByName {
    /// Counts one more.
    pub fn add(&self, name: &'static str) {
        *self.0.lock().entry(name).or_default() += 1;
    }

    /// The counts now.
    #[must_use]
    pub fn read(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().clone()
    }
}
