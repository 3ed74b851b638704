//! Logs and audits what a call was denied and which limits it reached. The guest gets a typed error and may go on; the
//! operator alone is told which line of the configuration would grant what was denied.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::call_env::GrantHint;
use crate::capability::PluginCtx;
use crate::config::Grants;
use crate::observe::Escaped;
use crate::observe::trace::SpanScope;

/// Different entries of one call that are recorded. A call with more of them has one last entry that says so.
const MAX_RECORDED: usize = 64;

/// Entries of one call that are logged; the audit gets all that are recorded.
const MAX_LOGGED: usize = 16;

/// The denials of one call and the limits that it reached, each recorded once. Clones are of the same call.
#[derive(Debug, Clone, Default)]
pub(in crate::capability) struct DenialLog {
    call: Arc<CallDenials>,
}

#[derive(Debug, Default)]
struct CallDenials {
    recorded: Mutex<HashSet<String>>,
    /// The span of the call, which gets an event for each entry.
    trace: Mutex<Option<SpanScope>>,
}

/// An entry that was not recorded before.
struct DenialEntry {
    is_logged: bool,
}

#[derive(Serialize)]
struct DeniedLine<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: &'a str,
    /// What the guest requested.
    requested: &'a str,
    /// The line under the plugin's grants that would allow it.
    missing_grant: &'a str,
}

#[derive(Serialize)]
struct LimitLine<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: &'a str,
    /// The sentence that the guest got, which names the limit.
    reason: &'a str,
}

impl DenialLog {
    /// For a call that is recorded in this span.
    pub(in crate::capability) fn new(trace: Option<SpanScope>) -> Self {
        Self { call: Arc::new(CallDenials { recorded: Mutex::default(), trace: Mutex::new(trace) }) }
    }

    /// Adds an entry. `None`: the call has the same entry already, or too many others.
    fn add(&self, plugin: &PluginCtx, entry: &str) -> Option<DenialEntry> {
        let mut recorded = self.call.recorded.lock();
        if recorded.len() > MAX_RECORDED || !recorded.insert(entry.to_owned()) {
            return None;
        }
        if recorded.len() > MAX_RECORDED {
            let PluginCtx { name, audit_digest: digest, audit, .. } = plugin;
            let why = "more different denials in one call than are logged";
            audit.record(&LimitLine { event: "limit", plugin: name, digest, reason: why });
            tracing::warn!(target: "plugin", plugin = &**name, "further denials of this call are not logged");
            return None;
        }
        Some(DenialEntry { is_logged: recorded.len() <= MAX_LOGGED })
    }

    /// From now on each entry is an event of this span too.
    pub(in crate::capability) fn set_trace(&self, trace: Option<SpanScope>) {
        *self.call.trace.lock() = trace;
    }

    /// Adds an event with the name of a limit or of a grant. What the guest requested is in the audit alone: it may be
    /// anything.
    fn add_event(&self, event: &'static str, attribute: &'static str, name: Option<&str>) {
        if let Some(span) = &*self.call.trace.lock() {
            let name = name.filter(|name| is_name(name));
            span.event(event, name.map(|name| (attribute, name.to_owned().into())));
        }
    }

    /// Records that the plugin reached a limit that did not end its call.
    pub(in crate::capability) fn record_limit(&self, plugin: &PluginCtx, why: &str) {
        let Some(entry) = self.add(plugin, why) else { return };
        // The sentence ends with its limit; something of the guest may stand before.
        let limit = why.rsplit_once("(limit `").and_then(|(_, rest)| rest.split('`').next());
        self.add_event("limit reached", "plugport.limit", limit);
        let PluginCtx { name, audit_digest: digest, audit, .. } = plugin;
        let why = shown(plugin, why);
        audit.record(&LimitLine { event: "limit", plugin: name, digest, reason: &why });
        if entry.is_logged {
            tracing::warn!(target: "plugin", plugin = &**name, "hit a limit: {why}");
        }
    }

    /// Records what the plugin was denied, and what would grant it. Both may contain text of the guest.
    pub(in crate::capability) fn record_denied(
        &self,
        plugin: &PluginCtx,
        requested: &str,
        hint: impl Into<GrantHint>,
    ) {
        let Some(entry) = self.add(plugin, requested) else { return };
        let PluginCtx { name, audit_digest: digest, audit, audience, .. } = plugin;
        let hint = hint.into();
        let grant = Grants::key_of(&hint.line).unwrap_or("_OTHER");
        self.add_event("denied", "plugport.grant", Some(grant));
        plugin.denials.add(grant);
        let (requested, line) = (shown(plugin, requested), shown(plugin, &hint.line));
        audit.record(&DeniedLine {
            event: "denied",
            plugin: name,
            digest,
            requested: &requested,
            missing_grant: &line,
        });
        if !entry.is_logged {
            return;
        }
        let how = shown(plugin, &hint.sentence("to allow it", name, *audience));
        tracing::warn!(target: "plugin", plugin = &**name, "was denied {requested}; {how}");
    }

    /// Records that a granted request was not sent, since the certificate of its host was rejected; `why` is the error
    /// of the TLS library.
    pub(in crate::capability) fn record_untrusted_host(&self, plugin: &PluginCtx, request: &str, why: &str) {
        if self.add(plugin, request).is_none_or(|entry| !entry.is_logged) {
            return;
        }
        let (request, why, plugin) = (shown(plugin, request), shown(plugin, why), &*plugin.name);
        tracing::warn!(
            target: "plugin",
            plugin,
            "sent nothing for {request}: the host did not prove who it is ({why}); its owner must mend its certificate, or you add \
             its authority to those that this machine trusts"
        );
    }

    /// Records that the plugin requested a value that is not set and went on without it, which is no denial.
    pub(in crate::capability) fn record_missing_value(
        &self,
        plugin: &PluginCtx,
        requested: &str,
        hint: &GrantHint,
    ) {
        if self.add(plugin, requested).is_none_or(|entry| !entry.is_logged) {
            return;
        }
        let how = shown(plugin, &hint.sentence("to set it", &plugin.name, plugin.audience));
        let (requested, plugin) = (shown(plugin, requested), &*plugin.name);
        tracing::info!(target: "plugin", plugin, "requested {requested}, which is not set; {how}");
    }
}

/// Whether a text is a name such as this program gives to limits and grants.
fn is_name(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// A guest's text with the plugin's secrets redacted and deceptive characters escaped.
fn shown(plugin: &PluginCtx, text: &str) -> String {
    Escaped(&plugin.config.grants.config.secrets.redactor().text(text)).to_string()
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
        assert_eq!(denials.call.recorded.lock().len(), MAX_RECORDED + 1);
        assert_eq!(plugin.denials.read().into_keys().collect::<Vec<_>>(), ["_OTHER"]);
        DenialLog::default().record_denied(
            &plugin,
            "the host a.example",
            "http = [\"GET https://a.example\"]",
        );
        assert_eq!(plugin.denials.read().get("http"), Some(&1));
    }
}
