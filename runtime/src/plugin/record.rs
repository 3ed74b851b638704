//! What the audit says of one call. It is written when the record is dropped, so that every call has one line and only one,
//! also when its future is dropped in the middle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Plugin;
use super::artifact::sha256;
use super::call::Usage;
use super::errand::{Job, Weight};
use super::failure::CallFailure;
use crate::host::{Caller, Shared};
use crate::observe::Escaped;

/// Arguments that are written down whole, if the operator wants that; the rest is cut.
const ARGUMENTS: usize = 16 << 10;

/// One call, as it is noted.
#[derive(Debug)]
pub struct Record {
    plugin: Arc<Shared>,
    begun: Instant,
    function: &'static str,
    name: String,
    caller: Caller,
    bytes_in: usize,
    bytes_out: usize,
    /// Or their digest.
    arguments: String,
    usage: Option<Usage>,
    outcome: Outcome,
}

#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    plugin: &'a str,
    digest: String,
    function: &'static str,
    name: String,
    caller: String,
    #[serde(flatten)]
    outcome: &'a Outcome,
    fuel: u64,
    elapsed_us: u64,
    bytes_in: usize,
    bytes_out: usize,
    arguments: &'a str,
}

/// How a call ended.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Outcome {
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
            CallFailure::Host(_) => Self::Host,
        }
    }
}

impl Record {
    pub(super) fn new(plugin: &Arc<Shared>, job: &Job<'_>) -> Self {
        let arguments = match plugin.audit.tells_arguments() {
            None => String::new(),
            Some(false) => format!("sha256:{}", sha256(job.arguments.as_bytes())),
            Some(true) => {
                let kept = job.arguments.floor_char_boundary(ARGUMENTS);
                job.arguments.get(..kept).unwrap_or_default().to_owned()
            }
        };
        Self {
            plugin: Arc::clone(plugin),
            begun: Instant::now(),
            function: job.function.name(),
            name: job.name.to_owned(),
            caller: job.caller.clone(),
            bytes_in: job.arguments.len(),
            bytes_out: 0,
            arguments,
            usage: None,
            outcome: Outcome::Cancelled,
        }
    }

    /// What it has cost.
    pub(super) fn used(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// It has ended.
    pub(super) fn ended(&mut self, outcome: Result<Weight, &CallFailure>) {
        self.outcome = match outcome {
            Ok(Weight { bytes, failed, .. }) => {
                self.bytes_out = bytes;
                if failed { Outcome::Error } else { Outcome::Ok }
            }
            Err(failure) => Outcome::of(failure),
        };
    }

    /// What the call cost. One that did not begin cost the time that it waited.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage.unwrap_or_else(|| Usage { fuel: 0, elapsed: self.begun.elapsed() })
    }

    /// The answer cannot be sent after all; `fault` has no secrets in it.
    pub fn broke_contract(&mut self, fault: &str) {
        self.outcome = Outcome::Contract { why: Escaped(fault).to_string() };
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

impl Drop for Record {
    fn drop(&mut self) {
        let Shared { name, digest, audit, .. } = &*self.plugin;
        if audit.tells_arguments().is_none() {
            return;
        }
        let Usage { fuel, elapsed } = self.usage();
        audit.record(&Line {
            event: "call",
            plugin: name,
            digest: format!("sha256:{digest}"),
            function: self.function,
            name: Escaped(&self.name).to_string(),
            caller: self.caller.to_string(),
            outcome: &self.outcome,
            fuel,
            elapsed_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            arguments: &self.arguments,
        });
    }
}
