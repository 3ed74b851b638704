//! Logs and audits what a call was denied and which limits it reached. The guest gets a typed error and may go on; the
//! operator, and nobody else, is told which line of the configuration would grant what was denied.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::capability::PluginCtx;
use crate::host::GrantHint;
use crate::observe::Escaped;

/// Different refusals of one call that are noted; a guest that tries everything is understood by then, and that there
/// was more is noted too.
const MOST: usize = 64;

/// Those that the log has as well.
const LOGGED: usize = 16;

/// The refusals of one call. Each is noted once. Clones are of the same call.
#[derive(Debug, Clone, Default)]
pub(in crate::capability) struct DenialLog {
    noted: Arc<Mutex<HashSet<String>>>,
}

/// A refusal that is to be noted.
struct FirstTime {
    logged: bool,
}

#[derive(Serialize)]
struct DeniedLine<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    /// What it reached for.
    requested: &'a str,
    /// The line under its grants that would allow it.
    missing_grant: &'a str,
}

#[derive(Serialize)]
struct LimitLine<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    /// The sentence that the guest got, which names the limit.
    reason: &'a str,
}

impl DenialLog {
    /// Whether this is to be noted, and where: it was not yet, and not too much was.
    fn first_time(&self, plugin: &PluginCtx, what: &str) -> Option<FirstTime> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() > MOST || !noted.insert(what.to_owned()) {
            return None;
        }
        if noted.len() > MOST {
            let PluginCtx { name, digest, audit, .. } = plugin;
            let (digest, why) =
                (format!("sha256:{digest}"), "more different denials in one call than are logged");
            audit.record(&LimitLine { event: "limit", plugin: name, digest, reason: why });
            tracing::warn!(target: "plugin", plugin = &**name, "further denials of this call are not logged");
            return None;
        }
        Some(FirstTime { logged: noted.len() <= LOGGED })
    }

    /// Notes that the plugin came to a limit that did not end its call.
    pub(in crate::capability) fn record_limit(&self, plugin: &PluginCtx, why: &str) {
        let Some(noted) = self.first_time(plugin, why) else { return };
        let PluginCtx { name, digest, audit, .. } = plugin;
        let (why, digest) = (shown(plugin, why), format!("sha256:{digest}"));
        audit.record(&LimitLine { event: "limit", plugin: name, digest, reason: &why });
        if noted.logged {
            tracing::warn!(target: "plugin", plugin = &**name, "hit a limit: {why}");
        }
    }

    /// Notes that the plugin wanted something, and what would allow it. Both may hold a guest's own words.
    pub(in crate::capability) fn record_denied(
        &self,
        plugin: &PluginCtx,
        wanted: &str,
        allow: impl Into<GrantHint>,
    ) {
        let Some(noted) = self.first_time(plugin, wanted) else { return };
        let PluginCtx { name, digest, audit, audience, .. } = plugin;
        let allow = allow.into();
        let (said, line) = (shown(plugin, wanted), shown(plugin, &allow.line));
        let digest = format!("sha256:{digest}");
        audit.record(&DeniedLine {
            event: "denied",
            plugin: name,
            digest,
            requested: &said,
            missing_grant: &line,
        });
        if !noted.logged {
            return;
        }
        let how = shown(plugin, &allow.sentence("to allow it", name, *audience));
        tracing::warn!(target: "plugin", plugin = &**name, "was denied {said}; {how}");
    }

    /// Notes that a granted host did not prove who it is, in its own words and those of the one who looked.
    pub(in crate::capability) fn record_untrusted_host(&self, plugin: &PluginCtx, wanted: &str, why: &str) {
        if self.first_time(plugin, wanted).is_none_or(|noted| !noted.logged) {
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
    pub(in crate::capability) fn record_missing_value(
        &self,
        plugin: &PluginCtx,
        wanted: &str,
        allow: &GrantHint,
    ) {
        if self.first_time(plugin, wanted).is_none_or(|noted| !noted.logged) {
            return;
        }
        let how = shown(plugin, &allow.sentence("to set it", &plugin.name, plugin.audience));
        let (wanted, plugin) = (shown(plugin, wanted), &*plugin.name);
        tracing::info!(target: "plugin", plugin, "requested {wanted}, which is not set; {how}");
    }
}

/// A guest's words with the plugin's secrets hidden and what could deceive spelled out.
fn shown(plugin: &PluginCtx, words: &str) -> String {
    Escaped(&plugin.config.grants.config.secrets.redactor().text(words)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_tries_everything_is_noted_a_bounded_number_of_times() {
        let denials = DenialLog::default();
        let plugin = crate::capability::tests::plugin();
        for n in 0..100 {
            denials.record_denied(&plugin, &format!("thing {n}"), "x = true");
            denials.record_denied(&plugin, "thing 0", "x = true");
            denials.record_limit(&plugin, "the end");
        }
        assert_eq!(denials.noted.lock().unwrap().len(), MOST + 1);
    }
}
