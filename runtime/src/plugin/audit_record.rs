//! The audit record of one call. It is written when it is dropped, so that every call that began has one line and
//! only one, also when its future is dropped in the middle. Rejected calls are [counted](RejectedCalls). The plugin's
//! counters are fed from here too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Plugin;
use super::call_error::CallError;
use super::call_line::{CallLine, CallOutcome};
use super::component_file::sha256;
use super::counters::{CallEnd, Counters};
use super::guest_call::{CallInfo, CallKind, CallUsage, ResultSize};
use super::rejected_calls::{RejectedCalls, RejectionKey};
use crate::capability::PluginCtx;
use crate::host::Caller;
use crate::observe::Escaped;
use crate::sandbox::SpentCpuTime;

/// Arguments that are written down whole, if the operator wants that; the rest is cut.
const ARGUMENTS: usize = 16 << 10;

/// One call, as it is noted.
#[derive(Debug)]
pub struct AuditRecord {
    plugin: Arc<PluginCtx>,
    counters: Arc<Counters>,
    begun: Instant,
    function: &'static str,
    name: String,
    caller: Caller,
    bytes_in: usize,
    bytes_out: usize,
    /// Or their digest. What did not begin costs nothing, so they are not read before.
    arguments: Option<String>,
    usage: Option<CallUsage>,
    /// What a long check of its arguments or its result uses, which is the call's as well.
    checks: Option<SpentCpuTime>,
    outcome: CallOutcome,
    end: CallEnd,
    /// Its instance served a call before.
    is_reused: bool,
    /// It came to the guest.
    has_entered: bool,
    /// It began, and is counted as a call that runs.
    is_counted: bool,
    /// It did not begin: where it is counted.
    rejected: Option<Arc<RejectedCalls>>,
    /// It is no call after all.
    is_discarded: bool,
}

/// How a call ended whose result is still validated and written.
#[derive(Debug)]
pub(crate) struct Unchecked(CallOutcome, CallEnd);

impl AuditRecord {
    pub(super) fn new(plugin: &Arc<PluginCtx>, counters: &Arc<Counters>, info: &CallInfo<'_>) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            counters: Arc::clone(counters),
            begun: Instant::now(),
            function: info.kind.name(),
            name: info.name.to_owned(),
            caller: info.caller.clone(),
            bytes_in: info.arguments.len(),
            bytes_out: 0,
            arguments: None,
            usage: None,
            checks: None,
            outcome: CallOutcome::Cancelled,
            end: CallEnd::Cancelled,
            is_reused: false,
            has_entered: false,
            is_counted: false,
            rejected: None,
            is_discarded: false,
        }
    }

    /// Bytes of the arguments that are written down or digested.
    pub(super) fn bytes_noted(&self) -> usize {
        if self.plugin.audit.includes_arguments().is_some() { self.bytes_in } else { 0 }
    }

    /// It has a permit and begins; `info` is asked for only when something is to be noted of it.
    pub(super) fn began<'j>(&mut self, info: impl FnOnce() -> CallInfo<'j>) {
        if !self.is_listing() {
            self.counters.began();
            self.is_counted = true;
        }
        let Some(whole) = self.plugin.audit.includes_arguments() else { return };
        let arguments = info().arguments;
        self.arguments = Some(if whole {
            let kept = arguments.floor_char_boundary(ARGUMENTS);
            arguments.get(..kept).unwrap_or_default().to_owned()
        } else {
            format!("sha256:{}", sha256(arguments.as_bytes()))
        });
    }

    /// An instance that served a call before serves it.
    pub(super) fn reused(&mut self) {
        self.is_reused = true;
    }

    /// It has come to the guest.
    pub(super) fn entered(&mut self) {
        self.has_entered = true;
    }

    /// Whether the guest had to do with how it ended.
    pub(super) fn has_entered(&self) -> bool {
        self.has_entered
    }

    /// It is rejected and does not begin.
    pub(super) fn rejected(&mut self, counted: &Arc<RejectedCalls>) {
        self.rejected = Some(Arc::clone(counted));
    }

    /// It is no call after all: another record tells of it, or there was nothing to call.
    pub(super) fn discard(mut self) {
        self.is_discarded = true;
    }

    /// What it has cost, but for checks.
    pub(super) fn used(&mut self, usage: CallUsage) {
        self.usage = Some(usage);
    }

    /// Where a check notes what it uses, which is the call's.
    pub(crate) fn checks(&mut self) -> SpentCpuTime {
        self.checks.get_or_insert_default().clone()
    }

    /// It has ended.
    pub(super) fn ended(&mut self, outcome: Result<ResultSize, &CallError>) {
        (self.outcome, self.end) = match outcome {
            Ok(ResultSize { bytes, failed, .. }) => {
                self.bytes_out = bytes;
                if failed { (CallOutcome::Error, CallEnd::Failed) } else { (CallOutcome::Ok, CallEnd::Ok) }
            }
            Err(failure) => (CallOutcome::of(failure), CallEnd::of(failure)),
        };
    }

    fn is_listing(&self) -> bool {
        self.function == CallKind::List.name()
    }

    /// Counts it, now that it is over.
    fn count(&self) {
        match self.outcome {
            CallOutcome::Limit { limit, .. } => self.counters.hit(limit),
            CallOutcome::Busy if self.rejected.is_some() => self.counters.hit("concurrent_calls"),
            _ => {}
        }
        if self.is_counted {
            self.counters.ended(self.end, self.usage().fuel);
        } else if self.rejected.is_some() && !self.is_listing() {
            self.counters.rejected();
        }
    }

    /// What the call cost. One that did not begin cost the time that it waited.
    #[must_use]
    pub fn usage(&self) -> CallUsage {
        let begun = || CallUsage { elapsed: self.begun.elapsed(), ..CallUsage::default() };
        let usage = self.usage.unwrap_or_else(begun);
        let checks = self.checks.as_ref().map_or(Duration::ZERO, SpentCpuTime::time);
        CallUsage { cpu: usage.cpu.saturating_add(checks), ..usage }
    }

    /// Bytes of the result.
    pub(crate) fn bytes_out(&self) -> usize {
        self.bytes_out
    }

    /// The result is validated and written, which may take a while: until that is [over](AuditRecord::checked), the
    /// call has not gone well.
    pub(crate) fn checking(&mut self) -> Unchecked {
        let outcome = std::mem::replace(&mut self.outcome, CallOutcome::Cancelled);
        Unchecked(outcome, std::mem::replace(&mut self.end, CallEnd::Cancelled))
    }

    /// It ended as it had ended before its result was validated.
    pub(crate) fn checked(&mut self, Unchecked(outcome, end): Unchecked) {
        (self.outcome, self.end) = (outcome, end);
    }

    /// Validating the result took more than the call may.
    pub(crate) fn exceeded(&mut self, failure: &CallError) {
        (self.outcome, self.end) = (CallOutcome::of(failure), CallEnd::of(failure));
    }

    /// The result cannot be sent after all; `fault` has no secrets in it.
    pub fn broke_contract(&mut self, fault: &str) {
        self.outcome = CallOutcome::InvalidResult { reason: Escaped(fault).to_string() };
        self.end = CallEnd::Terminated;
    }
}

impl CallEnd {
    fn of(failure: &CallError) -> Self {
        match failure {
            CallError::Replaced => Self::Cancelled,
            failure if failure.is_termination() => Self::Terminated,
            _ => Self::Failed,
        }
    }
}

/// A plugin is quarantined.
#[derive(Serialize)]
struct QuarantineLine<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    seconds: u64,
}

impl Plugin {
    pub(super) fn record_quarantine(&self, time: Duration) {
        let digest = format!("sha256:{}", self.digest());
        let line =
            QuarantineLine { event: "quarantine", plugin: self.name(), digest, seconds: time.as_secs() };
        self.shared.audit.record(&line);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Drop for AuditRecord {
    fn drop(&mut self) {
        if self.is_discarded {
            return;
        }
        self.count();
        let PluginCtx { name, digest, audit, .. } = &*self.plugin;
        if audit.includes_arguments().is_none() {
            return;
        }
        if let Some(rejected_calls) = self.rejected.take() {
            let (caller, outcome) = (self.caller.clone(), self.outcome.clone());
            rejected_calls
                .record(RejectionKey::new(self.function, &self.name, caller, outcome), self.bytes_in);
            return;
        }
        let CallUsage { fuel, elapsed, cpu } = self.usage();
        audit.record(&CallLine {
            event: "call",
            plugin: name,
            digest: format!("sha256:{digest}"),
            function: self.function,
            name: Some(Escaped(&self.name).to_string()),
            caller: Some(self.caller.to_string()),
            outcome: &self.outcome,
            instance: self.is_reused.then_some("reused"),
            count: None,
            fuel,
            elapsed_us: micros(elapsed),
            cpu_us: micros(cpu),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            arguments: self.arguments.as_deref(),
        });
    }
}
