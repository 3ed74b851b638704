//! The audit record of one call. Dropping the record counts the call and writes its line, so every call that began has
//! exactly one line, also when its future is dropped in the middle. A rejected call is handed to
//! [`RejectedCalls`](super::rejected_calls::RejectedCalls), which writes one line for many.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::CallLog;
use super::audited_arguments::AuditedArguments;
use super::call_line::{CallOutcome, FinishedCallEvent};
use super::rejected_calls::RejectionKey;
use super::sandbox_span::SandboxSpan;
use crate::access::CallCharge;
use crate::call_env::Caller;
use crate::capability::PluginCtx;
use crate::observe::Escaped;
use crate::observe::trace::SpanScope;
use crate::plugin::call_error::CallError;
use crate::plugin::guest_call::{CallInfo, CallKind, CallUsage, ResultSize};
use crate::sandbox::SpentCpuTime;

/// Bytes that are digested in the time of one byte of JSON, some 15 ns, by a processor without instructions for that.
const DIGEST_BYTES: usize = 4;

/// One call, from when the server received it. Dropping it counts the call and writes its line.
#[derive(Debug)]
pub struct AuditRecord {
    log: Arc<CallLog>,
    received: Instant,
    function: &'static str,
    name: Arc<str>,
    caller: Caller,
    /// Gets what the call used; `None`: no quota holds.
    charge: Option<Arc<CallCharge>>,
    /// The names of the roles that allowed the call; `None` without `[roles]`.
    roles: Option<Arc<str>>,
    bytes_in: usize,
    bytes_out: usize,
    /// Set when the call begins; `None` without an audit.
    arguments: Option<AuditedArguments>,
    usage: Option<CallUsage>,
    /// Processor time for validating large arguments and results, which counts as the call's.
    validation: Option<SpentCpuTime>,
    outcome: CallOutcome,
    /// The instance served a call before.
    is_reused: bool,
    /// The guest was entered.
    has_entered: bool,
    /// The counters count the call as begun.
    is_counted: bool,
    /// The call was rejected and did not begin.
    is_rejected: bool,
    /// Nothing is counted or written: another record has the call, or there was nothing to call.
    is_discarded: bool,
    /// The span of the call, if its request is recorded.
    span: Option<SandboxSpan>,
}

/// How the guest's call ended, while the server still validates and writes the result.
#[derive(Debug)]
pub(crate) struct UnvalidatedOutcome(CallOutcome);

impl AuditRecord {
    pub(super) fn new(log: Arc<CallLog>, info: &CallInfo<'_>) -> Self {
        let span = SandboxSpan::begin(info.trace.as_ref(), &log.plugin.name);
        Self {
            span,
            log,
            received: Instant::now(),
            function: info.kind.name(),
            name: Arc::clone(&info.name),
            caller: info.caller.clone(),
            charge: info.charge.clone(),
            roles: info.roles.clone(),
            bytes_in: info.arguments.len(),
            bytes_out: 0,
            arguments: None,
            usage: None,
            validation: None,
            outcome: CallOutcome::Cancelled,
            is_reused: false,
            has_entered: false,
            is_counted: false,
            is_rejected: false,
            is_discarded: false,
        }
    }

    fn includes_arguments(&self) -> Option<bool> {
        self.log.plugin.audit.includes_arguments()
    }

    /// The work of copying or digesting the arguments, for `LargeWork::in_place`.
    pub(in crate::plugin) fn arguments_work(&self) -> usize {
        if self.includes_arguments().is_some() { self.bytes_in / DIGEST_BYTES } else { 0 }
    }

    /// The call has its permit and begins. `arguments` is called only with an audit.
    pub(in crate::plugin) fn began<'j>(&mut self, arguments: impl FnOnce() -> Cow<'j, str>) {
        if let Some(span) = &mut self.span {
            span.waited(self.received.elapsed());
        }
        if !self.is_listing() {
            self.log.counters.began();
            self.is_counted = true;
        }
        let Some(whole) = self.includes_arguments() else { return };
        self.arguments = Some(AuditedArguments::new(&arguments(), whole));
    }

    /// Whose call it is.
    pub(in crate::plugin) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The call's span from within, if the request is recorded.
    pub(in crate::plugin) fn trace(&self) -> Option<SpanScope> {
        self.span.as_ref().map(|span| span.scope().clone())
    }

    /// Notes the linear memory of the store, which never shrinks.
    pub(in crate::plugin) fn peak_memory(&mut self, bytes: usize) {
        if let Some(span) = &mut self.span {
            span.peak_memory(bytes);
        }
    }

    /// The call has an instance that served a call before.
    pub(in crate::plugin) fn reused(&mut self) {
        self.is_reused = true;
    }

    /// The guest was entered.
    pub(in crate::plugin) fn entered(&mut self) {
        self.has_entered = true;
    }

    /// Whether the guest was entered. If not, the outcome says nothing about the guest.
    pub(in crate::plugin) fn has_entered(&self) -> bool {
        self.has_entered
    }

    /// Notes the bytes of arguments that are not at hand any more.
    pub(in crate::plugin) fn received(&mut self, bytes: usize) {
        self.bytes_in = bytes;
    }

    /// The call is rejected and does not begin.
    pub(in crate::plugin) fn rejected(&mut self) {
        self.is_rejected = true;
    }

    /// Drops the record without a count or a line: another record has the call, or there was nothing to call.
    pub(in crate::plugin) fn discard(mut self) {
        self.is_discarded = true;
    }

    /// Notes what the guest and host functions for it used.
    pub(in crate::plugin) fn used(&mut self, usage: CallUsage) {
        self.usage = Some(usage);
    }

    /// Where validation of large arguments and results adds its processor time, which counts as the call's.
    pub(crate) fn validation_time(&mut self) -> SpentCpuTime {
        self.validation.get_or_insert_default().clone()
    }

    /// The guest's call has ended.
    pub(in crate::plugin) fn ended(&mut self, outcome: Result<ResultSize, &CallError>) {
        self.outcome = match outcome {
            Ok(ResultSize { bytes, failed, .. }) => {
                self.bytes_out = bytes;
                if failed { CallOutcome::Error } else { CallOutcome::Ok }
            }
            Err(failure) => CallOutcome::of(failure),
        };
    }

    /// The server has answered the call itself, with a result of this size or with an error.
    pub(crate) fn served(&mut self, bytes: usize, failed: bool) {
        self.ended(Ok(ResultSize { bytes, failed, ..ResultSize::default() }));
    }

    fn is_listing(&self) -> bool {
        self.function == CallKind::List.name()
    }

    /// Adds the call to the counters.
    fn count(&self) {
        let counters = &self.log.counters;
        match self.outcome {
            CallOutcome::Limit { limit, .. } => counters.hit(limit),
            CallOutcome::Busy if self.is_rejected => counters.hit("concurrent_calls"),
            _ => {}
        }
        if self.is_counted {
            let CallUsage { fuel, cpu, .. } = self.usage();
            counters.ended(self.outcome.end(), fuel, cpu);
        } else if self.is_rejected && !self.is_listing() {
            counters.rejected(self.outcome.rejection());
        }
    }

    /// What the call used. A call that did not begin used the time that it waited.
    #[must_use]
    pub fn usage(&self) -> CallUsage {
        let waited = || CallUsage { elapsed: self.received.elapsed(), ..CallUsage::default() };
        let usage = self.usage.unwrap_or_else(waited);
        let validation = self.validation.as_ref().map_or(Duration::ZERO, SpentCpuTime::time);
        CallUsage { cpu: usage.cpu.saturating_add(validation), ..usage }
    }

    /// Bytes of the result.
    pub(crate) fn bytes_out(&self) -> usize {
        self.bytes_out
    }

    /// The server begins to validate and write the result, which may take a while. The call counts as cancelled until
    /// [`checked`](AuditRecord::checked) is called.
    pub(crate) fn checking(&mut self) -> UnvalidatedOutcome {
        UnvalidatedOutcome(std::mem::replace(&mut self.outcome, CallOutcome::Cancelled))
    }

    /// The result is valid and written: the outcome is again that of the guest's call.
    pub(crate) fn checked(&mut self, UnvalidatedOutcome(outcome): UnvalidatedOutcome) {
        self.outcome = outcome;
    }

    /// Validating the result took more than the call may.
    pub(crate) fn exceeded(&mut self, failure: &CallError) {
        self.outcome = CallOutcome::of(failure);
    }

    /// The result is invalid and cannot be sent; `fault` has no secrets in it.
    pub fn broke_contract(&mut self, fault: &str) {
        self.outcome = CallOutcome::InvalidResult { reason: Escaped(fault).to_string() };
    }
}

impl Drop for AuditRecord {
    fn drop(&mut self) {
        if let Some(charge) = self.charge.take() {
            // Also of a call that was cancelled or dropped, and of a validation that belongs to another record.
            let CallUsage { fuel, cpu, .. } = self.usage();
            charge.used(fuel, cpu);
        }
        let span = self.span.take();
        if self.is_discarded {
            span.into_iter().for_each(SandboxSpan::discard);
            return;
        }
        if let Some(span) = span {
            span.end(self.usage(), self.is_reused, &self.outcome);
        }
        self.count();
        if self.includes_arguments().is_none() {
            return;
        }
        if self.is_rejected {
            let outcome = std::mem::replace(&mut self.outcome, CallOutcome::Cancelled);
            let key = RejectionKey::new(self.function, &self.name, self.caller.clone(), outcome);
            self.log.rejected_calls.record(key, self.bytes_in);
            return;
        }
        let usage = self.usage();
        let PluginCtx { name, audit_digest, audit, .. } = &*self.log.plugin;
        let event = FinishedCallEvent {
            plugin: Arc::clone(name),
            digest: Arc::clone(audit_digest),
            function: self.function,
            name: Arc::clone(&self.name),
            caller: std::mem::replace(&mut self.caller, Caller::Unknown),
            roles: self.roles.take(),
            outcome: std::mem::replace(&mut self.outcome, CallOutcome::Cancelled),
            is_reused: self.is_reused,
            usage,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            arguments: self.arguments.take(),
        };
        let bytes = event.heap_bytes();
        audit.record_later(event, bytes);
    }
}
