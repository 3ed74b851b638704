//! What a guest was refused in the middle of a call. The guest gets a typed error and may go on; the operator, and nobody
//! else, hears which line of the configuration would allow what is not granted, and which limit was reached.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::allow::Allow;
use super::shared::Shared;
use crate::observe::Escaped;

/// Different refusals of one call that are noted; a guest that tries everything is understood by then, and that there was
/// more is noted too.
const MOST: usize = 64;

/// Those that the log has as well.
const LOGGED: usize = 16;

/// The refusals of one call. Each is noted once. Clones are of the same call.
#[derive(Debug, Clone, Default)]
pub(super) struct Denials {
    noted: Arc<Mutex<HashSet<String>>>,
}

/// A refusal that is to be noted.
struct Noted {
    logged: bool,
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

#[derive(Serialize)]
struct Reached<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    /// The sentence that the guest got, which names the limit.
    why: &'a str,
}

impl Denials {
    /// Whether this is to be noted, and where: it was not yet, and not too much was.
    fn look(&self, plugin: &Shared, what: &str) -> Option<Noted> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() > MOST || !noted.insert(what.to_owned()) {
            return None;
        }
        if noted.len() > MOST {
            let Shared { name, digest, audit, .. } = plugin;
            let (digest, why) =
                (format!("sha256:{digest}"), "more different refusals in one call than are noted");
            audit.record(&Reached { event: "limit", plugin: name, digest, why });
            tracing::warn!(target: "plugin", plugin = &**name, "was refused more in one call than is noted");
            return None;
        }
        Some(Noted { logged: noted.len() <= LOGGED })
    }

    /// Notes that the plugin came to a limit that did not end its call.
    pub(super) fn reached(&self, plugin: &Shared, why: &str) {
        let Some(noted) = self.look(plugin, why) else { return };
        let Shared { name, digest, audit, .. } = plugin;
        let (why, digest) = (shown(plugin, why), format!("sha256:{digest}"));
        audit.record(&Reached { event: "limit", plugin: name, digest, why: &why });
        if noted.logged {
            tracing::warn!(target: "plugin", plugin = &**name, "was refused: {why}");
        }
    }

    /// Notes that the plugin wanted something, and what would allow it. Both may hold a guest's own words.
    pub(super) fn note(&self, plugin: &Shared, wanted: &str, allow: impl Into<Allow>) {
        let Some(noted) = self.look(plugin, wanted) else { return };
        let Shared { name, digest, audit, advice, .. } = plugin;
        let allow = allow.into();
        let (said, line) = (shown(plugin, wanted), shown(plugin, &allow.line));
        let digest = format!("sha256:{digest}");
        audit.record(&Line { event: "denied", plugin: name, digest, wanted: &said, allow: &line });
        if !noted.logged {
            return;
        }
        let how = shown(plugin, &allow.advise("to allow it", name, *advice));
        tracing::warn!(target: "plugin", plugin = &**name, "was denied {said}; {how}");
    }

    /// Notes that a granted host did not prove who it is, in its own words and those of the one who looked.
    pub(super) fn note_unproven(&self, plugin: &Shared, wanted: &str, why: &str) {
        if self.look(plugin, wanted).is_none_or(|noted| !noted.logged) {
            return;
        }
        let (wanted, why, plugin) = (shown(plugin, wanted), shown(plugin, why), &*plugin.name);
        tracing::warn!(
            target: "plugin",
            plugin,
            "sent nothing to {wanted}, which did not prove who it is ({why}); its owner has to see to its certificate, or you add \
             its authority to those that this machine trusts"
        );
    }

    /// Notes that the plugin asked for something that is not there and went on without it, which is no denial.
    pub(super) fn note_missing(&self, plugin: &Shared, wanted: &str, allow: &Allow) {
        if self.look(plugin, wanted).is_none_or(|noted| !noted.logged) {
            return;
        }
        let how = shown(plugin, &allow.advise("to set it", &plugin.name, plugin.advice));
        let (wanted, plugin) = (shown(plugin, wanted), &*plugin.name);
        tracing::info!(target: "plugin", plugin, "asked for {wanted}, which is not set; {how}");
    }
}

/// A guest's words with the plugin's secrets hidden and what could deceive spelled out.
fn shown(plugin: &Shared, words: &str) -> String {
    Escaped(&plugin.config.grants.secrets.mask().text(words)).to_string()
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
            denials.reached(&shared, "the end");
        }
        assert_eq!(denials.noted.lock().unwrap().len(), MOST + 1);
    }
}
