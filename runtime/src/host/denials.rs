//! A guest reached for something that is not granted. The guest gets a typed error; the operator, and nobody else, hears
//! which line of the configuration would allow it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::shared::Shared;
use crate::observe::Escaped;

/// Different denials of one call that are noted; a guest that tries everything is understood by then.
const MOST: usize = 16;

/// The denials of one call. Each kind is noted once. Shared with what the call does on other threads.
#[derive(Debug, Default)]
pub(super) struct Denials {
    noted: Mutex<HashSet<String>>,
}

#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: &'a str,
    /// What it reached for.
    wanted: &'a str,
    /// The line under its grants that would allow it.
    allow: &'a str,
}

impl Denials {
    /// Notes that the plugin wanted something, and the line under `[plugins.NAME.grants]` that would allow it. Both may hold
    /// a guest's own words.
    pub(super) fn note(&self, plugin: &Shared, wanted: &str, allow: &str) {
        {
            let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
            if noted.len() >= MOST || !noted.insert(wanted.to_owned()) {
                return;
            }
        }
        let Shared { name, digest, audit, .. } = plugin;
        audit.record(&Line { event: "denied", plugin: name, digest, wanted, allow });
        let plugin = &**name;
        tracing::warn!(
            target: "plugin",
            plugin,
            "was denied {}; to allow it, write under [plugins.{plugin}.grants]: {}",
            Escaped(wanted),
            Escaped(allow)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_tries_everything_is_noted_a_bounded_number_of_times() {
        let denials = Denials::default();
        let shared = super::super::shared::tests::shared();
        for n in 0..100 {
            denials.note(&shared, &format!("thing {n}"), "x = true");
            denials.note(&shared, "thing 0", "x = true");
        }
        assert_eq!(denials.noted.lock().unwrap().len(), MOST);
    }
}
