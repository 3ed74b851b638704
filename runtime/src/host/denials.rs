//! A guest reached for something that is not granted. The guest gets a typed error; the operator, and nobody else, hears
//! which line of the configuration would allow it.

use std::collections::HashSet;

use serde::Serialize;

use super::shared::Shared;
use crate::observe::Escaped;

/// Different denials of one call that are noted; a guest that tries everything is understood by then.
const MOST: usize = 16;

/// The denials of one call. Each kind is noted once.
#[derive(Debug, Default)]
pub(super) struct Denials {
    noted: HashSet<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    /// What it reached for.
    wanted: &'a str,
    /// The line under its grants that would allow it.
    allow: &'a str,
}

impl Denials {
    /// Notes that the plugin wanted something, and the line under `[plugins.NAME.grants]` that would allow it. Both may hold
    /// a guest's own words.
    pub(super) fn note(&mut self, plugin: &Shared, wanted: &str, allow: &str) {
        if self.noted.len() >= MOST || !self.noted.insert(wanted.to_owned()) {
            return;
        }
        let Shared { name, digest, audit, .. } = plugin;
        let (said, line) = (Escaped(wanted).to_string(), Escaped(allow).to_string());
        let digest = format!("sha256:{digest}");
        audit.record(&Line { event: "denied", plugin: name, digest, wanted: &said, allow: &line });
        let plugin = &**name;
        tracing::warn!(
            target: "plugin",
            plugin,
            "was denied {}; to allow it, write under [plugins.{plugin}.grants]: {}",
            said,
            line
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_tries_everything_is_noted_a_bounded_number_of_times() {
        let mut denials = Denials::default();
        let shared = super::super::shared::tests::shared();
        for n in 0..100 {
            denials.note(&shared, &format!("thing {n}"), "x = true");
            denials.note(&shared, "thing 0", "x = true");
        }
        assert_eq!(denials.noted.len(), MOST);
    }
}
