//! What is known of a plugin's calls afterwards: counters for `plugport status` and metrics, and lines in the audit.
//!
//! Each call has one [`AuditRecord`]. Dropping the record counts the call and writes its line, so the counters and the
//! audit agree, and a call whose future is dropped in the middle has its line too. Lines of
//! [rejected calls](rejected_calls) are written together, and so are those of [forbidden calls](forbidden_call). A call
//! that is cancelled before it begins, such as while it waits for a permit, has a line and is not counted. Denials are
//! logged and audited by `capability::host_support`.

mod audit_record;
mod audited_arguments;
mod call_line;
mod call_totals;
mod counters;
mod forbidden_call;
mod over_quota_call;
mod rejected_calls;
mod sandbox_span;

pub use audit_record::AuditRecord;
pub use call_totals::CallTotals;
pub use counters::CounterSnapshot;
pub(crate) use forbidden_call::{ForbiddenCall, ForbiddenReason};
pub(crate) use over_quota_call::OverQuotaCall;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::guest_call::CallInfo;
use crate::capability::PluginCtx;
use call_line::CallOutcome;
use counters::Counters;
use rejected_calls::{RejectedCalls, RejectionKey};

/// The calls of one plugin, since it was loaded.
#[derive(Debug)]
pub(super) struct CallLog {
    plugin: Arc<PluginCtx>,
    counters: Arc<Counters>,
    totals: Arc<CallTotals>,
    rejected_calls: Arc<RejectedCalls>,
    forbidden_calls: Arc<RejectedCalls>,
}

/// The audit's line for the start of a quarantine.
#[derive(Serialize)]
struct QuarantineLine<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: &'a str,
    seconds: u64,
}

impl CallLog {
    pub(super) fn new(plugin: &Arc<PluginCtx>, totals: &Arc<CallTotals>) -> Arc<Self> {
        let rejected_calls = RejectedCalls::new(Arc::clone(plugin));
        let forbidden_calls = RejectedCalls::new(Arc::clone(plugin));
        let counters = Arc::new(Counters::new(Arc::clone(&plugin.denials)));
        totals.add(&plugin.name, &counters);
        let (plugin, totals) = (Arc::clone(plugin), Arc::clone(totals));
        Arc::new(Self { plugin, counters, totals, rejected_calls, forbidden_calls })
    }

    /// The record of a call that was received just now.
    pub(super) fn record(self: &Arc<Self>, info: &CallInfo<'_>) -> AuditRecord {
        AuditRecord::new(Arc::clone(self), info)
    }

    /// Counts and audits a call that its caller may not make.
    pub(super) fn record_forbidden(&self, call: ForbiddenCall<'_>) {
        self.counters.rejected("forbidden");
        if self.plugin.audit.includes_arguments().is_none() {
            return;
        }
        let ForbiddenCall { function, name, caller, reason, bytes_in } = call;
        let key = RejectionKey::new(function, name, caller.clone(), CallOutcome::Forbidden(reason));
        self.forbidden_calls.record(key, bytes_in);
    }

    /// Audits that the plugin is quarantined from now on for `time`.
    pub(super) fn record_quarantine(&self, time: Duration) {
        let PluginCtx { name, audit_digest: digest, audit, .. } = &*self.plugin;
        audit.record(&QuarantineLine { event: "quarantine", plugin: name, digest, seconds: time.as_secs() });
    }

    pub(super) fn counters(&self) -> CounterSnapshot {
        self.counters.read()
    }

    /// Calls that have begun and not ended.
    pub(super) fn running(&self) -> u64 {
        self.counters.running()
    }
}

/// When the last call of a version has ended, its counts are added to those of the versions before it.
impl Drop for CallLog {
    fn drop(&mut self) {
        self.totals.remove(&self.plugin.name, &self.counters);
    }
}
