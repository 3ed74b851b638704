//! What the audit says of one call. It is written when the record is dropped, so that every call that began has one line and
//! only one, also when its future is dropped in the middle. Those that were refused are [counted](Refusals). The plugin's
//! tally is fed from here too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Plugin;
use super::artifact::sha256;
use super::call::Usage;
use super::errand::{Function, Job, Weight};
use super::failure::CallFailure;
use super::refusals::{Refusals, Refused};
use super::tally::{Counts, End};
use crate::host::{Caller, Shared};
use crate::observe::Escaped;
use crate::sandbox::SpentCpuTime;

/// Arguments that are written down whole, if the operator wants that; the rest is cut.
const ARGUMENTS: usize = 16 << 10;

/// One call, as it is noted.
#[derive(Debug)]
pub struct Record {
    plugin: Arc<Shared>,
    counts: Arc<Counts>,
    begun: Instant,
    function: &'static str,
    name: String,
    caller: Caller,
    bytes_in: usize,
    bytes_out: usize,
    /// Or their digest. What did not begin costs nothing, so they are not looked at before.
    arguments: Option<String>,
    usage: Option<Usage>,
    /// What a long check of its arguments or its result uses, which is the call's as well.
    checks: Option<SpentCpuTime>,
    outcome: Outcome,
    end: End,
    /// Its instance served a call before.
    is_reused: bool,
    /// It came to the guest.
    has_entered: bool,
    /// It began, and is counted as a call that runs.
    is_counted: bool,
    /// It did not begin: where it is counted.
    refused: Option<Arc<Refusals>>,
    /// It is no call after all.
    is_dismissed: bool,
}

/// How a call ended whose answer is still looked at.
#[derive(Debug)]
pub(crate) struct Unchecked(Outcome, End);

/// One call, or several that were refused, in the audit.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) event: &'static str,
    pub(super) plugin: &'a str,
    pub(super) digest: String,
    pub(super) function: &'static str,
    pub(super) name: Option<String>,
    pub(super) caller: Option<String>,
    #[serde(flatten)]
    pub(super) outcome: &'a Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<u64>,
    pub(super) fuel: u64,
    pub(super) elapsed_us: u64,
    pub(super) cpu_us: u64,
    pub(super) bytes_in: usize,
    pub(super) bytes_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a str>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub(super) enum Outcome {
    Ok,
    /// The plugin said that it failed.
    Error,
    Limit {
        limit: &'static str,
        value: u64,
    },
    Crashed {
        why: String,
    },
    Exited {
        code: i32,
    },
    Contract {
        why: String,
    },
    Busy,
    Quarantined,
    Cancelled,
    Replaced,
    Host,
}

impl Outcome {
    fn of(failure: &CallFailure) -> Self {
        match failure {
            CallFailure::Guest(_) => Self::Error,
            CallFailure::Limit(limit) => Self::Limit { limit: limit.name, value: limit.value },
            CallFailure::Crashed(how) => Self::Crashed { why: (*how).to_owned() },
            CallFailure::Exited(code) => Self::Exited { code: *code },
            CallFailure::Contract(fault) => Self::Contract { why: Escaped(fault).to_string() },
            CallFailure::Busy { .. } | CallFailure::Full => Self::Busy,
            CallFailure::Quarantined { .. } => Self::Quarantined,
            CallFailure::Replaced => Self::Replaced,
            CallFailure::Host(_) => Self::Host,
        }
    }
}

impl Record {
    pub(super) fn new(plugin: &Arc<Shared>, counts: &Arc<Counts>, job: &Job<'_>) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            counts: Arc::clone(counts),
            begun: Instant::now(),
            function: job.function.name(),
            name: job.name.to_owned(),
            caller: job.caller.clone(),
            bytes_in: job.arguments.len(),
            bytes_out: 0,
            arguments: None,
            usage: None,
            checks: None,
            outcome: Outcome::Cancelled,
            end: End::Cancelled,
            is_reused: false,
            has_entered: false,
            is_counted: false,
            refused: None,
            is_dismissed: false,
        }
    }

    /// Bytes of the arguments that are written down or digested.
    pub(super) fn bytes_noted(&self) -> usize {
        if self.plugin.audit.tells_arguments().is_some() { self.bytes_in } else { 0 }
    }

    /// It has a place and begins; `job` is asked for only when something is to be noted of it.
    pub(super) fn began<'j>(&mut self, job: impl FnOnce() -> Job<'j>) {
        if !self.is_listing() {
            self.counts.began();
            self.is_counted = true;
        }
        let Some(whole) = self.plugin.audit.tells_arguments() else { return };
        let arguments = job().arguments;
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

    /// It is refused and does not begin.
    pub(super) fn refused(&mut self, counted: &Arc<Refusals>) {
        self.refused = Some(Arc::clone(counted));
    }

    /// It is no call after all: another record tells of it, or there was nothing to call.
    pub(super) fn dismiss(mut self) {
        self.is_dismissed = true;
    }

    /// What it has cost, but for checks.
    pub(super) fn used(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// Where a check notes what it uses, which is the call's.
    pub(crate) fn checks(&mut self) -> SpentCpuTime {
        self.checks.get_or_insert_default().clone()
    }

    /// It has ended.
    pub(super) fn ended(&mut self, outcome: Result<Weight, &CallFailure>) {
        (self.outcome, self.end) = match outcome {
            Ok(Weight { bytes, failed, .. }) => {
                self.bytes_out = bytes;
                if failed { (Outcome::Error, End::Failed) } else { (Outcome::Ok, End::Ok) }
            }
            Err(failure) => (Outcome::of(failure), End::of(failure)),
        };
    }

    fn is_listing(&self) -> bool {
        self.function == Function::List.name()
    }

    /// Counts it, now that it is over.
    fn count(&self) {
        match self.outcome {
            Outcome::Limit { limit, .. } => self.counts.hit(limit),
            Outcome::Busy if self.refused.is_some() => self.counts.hit("queued_calls"),
            _ => {}
        }
        if self.is_counted {
            self.counts.ended(self.end, self.usage().fuel);
        } else if self.refused.is_some() && !self.is_listing() {
            self.counts.refused();
        }
    }

    /// What the call cost. One that did not begin cost the time that it waited.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let begun = || Usage { elapsed: self.begun.elapsed(), ..Usage::default() };
        let usage = self.usage.unwrap_or_else(begun);
        let checks = self.checks.as_ref().map_or(Duration::ZERO, SpentCpuTime::time);
        Usage { cpu: usage.cpu.saturating_add(checks), ..usage }
    }

    /// Bytes of the answer.
    pub(crate) fn bytes_out(&self) -> usize {
        self.bytes_out
    }

    /// The answer is looked at and written, which may take a while: until that is [over](Record::checked), the call has not
    /// gone well.
    pub(crate) fn checking(&mut self) -> Unchecked {
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Cancelled);
        Unchecked(outcome, std::mem::replace(&mut self.end, End::Cancelled))
    }

    /// It ended as it had ended before the answer was looked at.
    pub(crate) fn checked(&mut self, Unchecked(outcome, end): Unchecked) {
        (self.outcome, self.end) = (outcome, end);
    }

    /// Looking at the answer took more than the call may.
    pub(crate) fn exceeded(&mut self, failure: &CallFailure) {
        (self.outcome, self.end) = (Outcome::of(failure), End::of(failure));
    }

    /// The answer cannot be sent after all; `fault` has no secrets in it.
    pub fn broke_contract(&mut self, fault: &str) {
        self.outcome = Outcome::Contract { why: Escaped(fault).to_string() };
        self.end = End::Forced;
    }
}

impl End {
    fn of(failure: &CallFailure) -> Self {
        match failure {
            CallFailure::Replaced => Self::Cancelled,
            failure if failure.is_forced() => Self::Forced,
            _ => Self::Failed,
        }
    }
}

/// A plugin is left alone.
#[derive(Serialize)]
struct Quarantined<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    seconds: u64,
}

impl Plugin {
    pub(super) fn record_quarantine(&self, time: Duration) {
        let digest = format!("sha256:{}", self.digest());
        let line = Quarantined { event: "quarantine", plugin: self.name(), digest, seconds: time.as_secs() };
        self.shared.audit.record(&line);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.is_dismissed {
            return;
        }
        self.count();
        let Shared { name, digest, audit, .. } = &*self.plugin;
        if audit.tells_arguments().is_none() {
            return;
        }
        if let Some(refusals) = self.refused.take() {
            let (caller, outcome) = (self.caller.clone(), self.outcome.clone());
            refusals.note(Refused::new(self.function, &self.name, caller, outcome), self.bytes_in);
            return;
        }
        let Usage { fuel, elapsed, cpu } = self.usage();
        audit.record(&Line {
            event: "call",
            plugin: name,
            digest: format!("sha256:{digest}"),
            function: self.function,
            name: Some(Escaped(&self.name).to_string()),
            caller: Some(self.caller.to_string()),
            outcome: &self.outcome,
            instance: self.is_reused.then_some("reused"),
            times: None,
            fuel,
            elapsed_us: micros(elapsed),
            cpu_us: micros(cpu),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            arguments: self.arguments.as_deref(),
        });
    }
}
