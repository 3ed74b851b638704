//! Whether a plugin may be called now, asked before anything is done for the call, also before its arguments are checked where
//! that may take long: its quarantine, how often it was called, how often this caller calls.
//!
//! Calls that are refused here cost next to nothing, which is the point; how many may run at once is the next question and
//! belongs to [`Permits`](crate::sandbox::Permits).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::errand::{Function, Job};
use super::failure::{CallFailure, Limit};
use super::quarantine::Quarantine;
use crate::config::Limits;
use crate::host::Caller;
use crate::sandbox::{Callers, Rate};

/// Who has called how often, and how that went.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) quarantine: Quarantine,
    tool_calls_per_second: u64,
    /// By the plugin's own names; only tools that it has are ever called, but it may have others each time it is listed.
    tools: Mutex<BTreeMap<String, Rate>>,
    /// As many as it may have at a time. Beyond it, new ones share what is left.
    most_tools: usize,
    other_tools: Rate,
    completions_per_second: u64,
    completions: Rate,
    callers: Arc<Callers<Caller>>,
    /// Refusals that are logged: a flood of calls must not become a flood of lines.
    told: Rate,
}

impl Admission {
    pub(super) fn new(limits: &Limits, callers: Arc<Callers<Caller>>) -> Self {
        Self {
            quarantine: Quarantine::new(limits),
            tool_calls_per_second: limits.tool_calls_per_second,
            tools: Mutex::default(),
            most_tools: usize::try_from(limits.tools).unwrap_or(usize::MAX),
            other_tools: Rate::per_second(limits.tool_calls_per_second),
            completions_per_second: limits.completions_per_second,
            completions: Rate::per_second(limits.completions_per_second),
            callers,
            told: Rate::per_second(1),
        }
    }

    /// Counts a call, unless that was done when its arguments were checked, or says why it is refused.
    pub(super) fn check(&self, job: &Job<'_>) -> Result<(), CallFailure> {
        if job.function == Function::List {
            return Ok(());
        }
        let now = Instant::now();
        let over = |name, value| Err(CallFailure::Limit(Limit { name, value }));
        if let Err(left) = self.quarantine.admit(now) {
            return Err(CallFailure::Quarantined { seconds: left.as_secs() + 1 });
        }
        if job.is_admitted {
            return Ok(());
        }
        if !self.callers.admit(&job.caller, now) {
            return over("caller_calls_per_second", self.callers.per_second());
        }
        match job.function {
            Function::CallTool if !self.tool(job.name, now) => {
                over("tool_calls_per_second", self.tool_calls_per_second)
            }
            Function::Complete if !self.completions.take(1, now) => {
                over("completions_per_second", self.completions_per_second)
            }
            _ => Ok(()),
        }
    }

    /// Tools that were quiet for long enough to start afresh are forgotten when there are too many, which gives none of them more
    /// than it had.
    fn tool(&self, name: &str, now: Instant) -> bool {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = tools.get(name) {
            return rate.take(1, now);
        }
        if tools.len() >= self.most_tools {
            tools.retain(|_, rate| !rate.is_full(now));
        }
        if tools.len() >= self.most_tools {
            return self.other_tools.take(1, now);
        }
        let rate = Rate::new(self.tool_calls_per_second, Duration::from_secs(1), now);
        let admitted = rate.take(1, now);
        tools.insert(name.to_owned(), rate);
        admitted
    }

    /// Whether a refusal is to be logged.
    pub(super) fn may_tell(&self) -> bool {
        self.told.take(1, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(function: Function, name: &str) -> Job<'_> {
        Job { function, name, arguments: "".into(), caller: Caller::Stdio, is_admitted: false }
    }

    fn named(refused: Result<(), CallFailure>) -> &'static str {
        match refused {
            Err(CallFailure::Limit(limit)) => limit.name,
            _ => "",
        }
    }

    #[test]
    fn each_tool_has_a_rate_and_each_caller() {
        let limits = Limits { tool_calls_per_second: 2, completions_per_second: 1, ..Limits::default() };
        let admission = Admission::new(&limits, Arc::new(Callers::new(6)));
        assert!(admission.check(&job(Function::CallTool, "a")).is_ok());
        assert!(admission.check(&job(Function::CallTool, "a")).is_ok());
        assert_eq!(named(admission.check(&job(Function::CallTool, "a"))), "tool_calls_per_second");
        assert!(admission.check(&job(Function::CallTool, "b")).is_ok());
        assert!(admission.check(&job(Function::Complete, "x")).is_ok());
        assert_eq!(named(admission.check(&job(Function::Complete, "x"))), "completions_per_second");
        assert_eq!(named(admission.check(&job(Function::CallTool, "b"))), "caller_calls_per_second");
        assert!(admission.check(&job(Function::List, "")).is_ok(), "the server itself is no caller");
        let admitted = Job { is_admitted: true, ..job(Function::CallTool, "a") };
        assert!(admission.check(&admitted).is_ok(), "it was counted before");
    }

    #[test]
    fn tools_with_ever_new_names_share_a_rate_and_are_forgotten() {
        let limits = Limits { tool_calls_per_second: 2, tools: 3, ..Limits::default() };
        let admission = Admission::new(&limits, Arc::new(Callers::new(1_000)));
        let start = Instant::now() + Duration::from_secs(60);
        let admitted = (0..100).filter(|n| admission.tool(&format!("t{n}"), start)).count();
        assert_eq!(admitted, 5, "one call of each of three, and two of all others");
        assert!(admission.tool("t0", start), "those before have what they had");
        assert!(!admission.tool("t0", start));
        let later = start + Duration::from_secs(2);
        assert!(admission.tool("t200", later));
        assert_eq!(admission.tools.lock().unwrap().len(), 1);
    }
}
