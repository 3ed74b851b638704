//! Rejects calls before any work is done for them, also before a long validation of their arguments: calls of a plugin
//! in quarantine, of a tool that is called too often, and of a caller that calls too often.
//!
//! A call that is rejected here costs very little. [`CallPermits`](crate::sandbox::CallPermits) bounds how many calls
//! run at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::call_error::{CallError, LimitHit};
use super::guest_call::{CallInfo, CallKind};
use super::quarantine::Quarantine;
use crate::call_env::Caller;
use crate::config::Limits;
use crate::config::fixed_limits::COMPLETIONS_PER_SECOND;
use crate::token_bucket::{CallerRates, TokenBucket};

/// The token buckets and the quarantine of one plugin.
#[derive(Debug)]
pub(super) struct RateGate {
    pub(super) quarantine: Quarantine,
    tool_calls_per_second: u64,
    /// By the plugin's own names. Only listed tools are called, but a plugin may list other tools each time.
    tools: Mutex<BTreeMap<String, TokenBucket>>,
    /// As many as a plugin may list. Beyond it, new tools share one bucket.
    max_tools: usize,
    other_tools: TokenBucket,
    completions: TokenBucket,
    callers: Arc<CallerRates<Caller>>,
    /// Bounds the log lines about rejected calls.
    log_rate: TokenBucket,
}

impl RateGate {
    pub(super) fn new(limits: &Limits, callers: Arc<CallerRates<Caller>>) -> Self {
        Self {
            quarantine: Quarantine::new(limits),
            tool_calls_per_second: limits.tool_calls_per_second,
            tools: Mutex::default(),
            max_tools: usize::try_from(limits.tools).unwrap_or(usize::MAX),
            other_tools: TokenBucket::per_second(limits.tool_calls_per_second),
            completions: TokenBucket::per_second(COMPLETIONS_PER_SECOND),
            callers,
            log_rate: TokenBucket::per_second(1),
        }
    }

    /// Counts a call, unless it was counted when its arguments were validated. An error says why it is rejected.
    pub(super) fn admit(&self, info: &CallInfo<'_>) -> Result<(), CallError> {
        if info.kind == CallKind::List {
            return Ok(());
        }
        if let Err(remaining) = self.quarantine.admit(Instant::now()) {
            return Err(CallError::Quarantined { seconds: remaining.as_secs() + 1 });
        }
        self.admit_rate(info)
    }

    /// The same for a call that enters no guest.
    pub(super) fn admit_rate(&self, info: &CallInfo<'_>) -> Result<(), CallError> {
        let now = Instant::now();
        let limit_hit = |name, value| Err(CallError::Limit(LimitHit { name, value }));
        if info.is_admitted {
            return Ok(());
        }
        if !self.callers.admit(&info.caller, now) {
            return limit_hit("caller_calls_per_second", self.callers.capacity());
        }
        match info.kind {
            CallKind::CallTool if !self.tool(&info.name, now) => {
                limit_hit("tool_calls_per_second", self.tool_calls_per_second)
            }
            CallKind::Complete if !self.completions.take(1, now) => {
                limit_hit("completions_per_second", COMPLETIONS_PER_SECOND)
            }
            _ => Ok(()),
        }
    }

    /// Counts a call of a tool. When there are too many tools, those with a full bucket are forgotten, since a new
    /// bucket would be full too.
    fn tool(&self, name: &str, now: Instant) -> bool {
        let mut tools = self.tools.lock();
        if let Some(rate) = tools.get(name) {
            return rate.take(1, now);
        }
        if tools.len() >= self.max_tools {
            tools.retain(|_, rate| !rate.is_full(now));
        }
        if tools.len() >= self.max_tools {
            return self.other_tools.take(1, now);
        }
        let rate = TokenBucket::new(self.tool_calls_per_second, Duration::from_secs(1), now);
        let admitted = rate.take(1, now);
        tools.insert(name.to_owned(), rate);
        admitted
    }

    /// Whether a rejection is to be logged.
    pub(super) fn should_log(&self) -> bool {
        self.log_rate.take(1, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(kind: CallKind, name: &str) -> CallInfo<'_> {
        let (name, arguments, caller) = (name.into(), "".into(), Caller::Stdio);
        let (roles, is_admitted, charge, trace, task) = (None, false, None, None, None);
        CallInfo { kind, name, arguments, caller, roles, is_admitted, charge, trace, task }
    }

    fn named(rejected: Result<(), CallError>) -> &'static str {
        match rejected {
            Err(CallError::Limit(limit)) => limit.name,
            _ => "",
        }
    }

    #[test]
    fn each_tool_has_a_rate_and_each_caller() {
        let limits = Limits { tool_calls_per_second: 2, ..Limits::default() };
        let rate_gate = RateGate::new(&limits, Arc::new(CallerRates::per_second(COMPLETIONS_PER_SECOND + 5)));
        assert!(rate_gate.admit(&info(CallKind::CallTool, "a")).is_ok());
        assert!(rate_gate.admit(&info(CallKind::CallTool, "a")).is_ok());
        assert_eq!(named(rate_gate.admit(&info(CallKind::CallTool, "a"))), "tool_calls_per_second");
        assert!(rate_gate.admit(&info(CallKind::CallTool, "b")).is_ok());
        for _ in 0..COMPLETIONS_PER_SECOND {
            assert!(rate_gate.admit(&info(CallKind::Complete, "x")).is_ok());
        }
        assert_eq!(named(rate_gate.admit(&info(CallKind::Complete, "x"))), "completions_per_second");
        assert_eq!(named(rate_gate.admit(&info(CallKind::CallTool, "b"))), "caller_calls_per_second");
        assert!(rate_gate.admit(&info(CallKind::List, "")).is_ok(), "the server itself is no caller");
        let admitted = CallInfo { is_admitted: true, ..info(CallKind::CallTool, "a") };
        assert!(rate_gate.admit(&admitted).is_ok(), "it was counted before");
    }

    #[test]
    fn tools_with_ever_new_names_share_a_rate_and_are_forgotten() {
        let limits = Limits { tool_calls_per_second: 2, tools: 3, ..Limits::default() };
        let rate_gate = RateGate::new(&limits, Arc::new(CallerRates::per_second(1_000)));
        let start = Instant::now() + Duration::from_secs(60);
        let admitted = (0..100).filter(|n| rate_gate.tool(&format!("t{n}"), start)).count();
        assert_eq!(admitted, 5, "one call of each of three, and two of all others");
        assert!(rate_gate.tool("t0", start), "those before have what they had");
        assert!(!rate_gate.tool("t0", start));
        let later = start + Duration::from_secs(2);
        assert!(rate_gate.tool("t200", later));
        assert_eq!(rate_gate.tools.lock().len(), 1);
    }
}
