//! Everything that a guest writes for people to read: log messages, stdout and stderr, under one budget per call.
//!
//! One budget, because three would let a guest write three times as much. What exceeds it is counted and reported in
//! one line when the call ends; it never traps the guest and never reaches our own stdout.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::fixed_limits::{LOG_LINE_BYTES, LOG_REFILL_S};
use crate::config::{Limits, kib};
use crate::observe::{Escaped, Redactor};
use crate::sandbox::TokenBucket;

/// What a line costs beside its text: written out it carries a time, a level and a name, and a guest that prints a
/// million short lines must not fill a disk either.
const LINE_COST: usize = 64;

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogSource {
    Log,
    Stdout,
    Stderr,
    /// The host, about the guest.
    Host,
}

impl LogSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Host => "host",
        }
    }
}

/// The log of one call. Clones write to the same budget.
#[derive(Debug, Clone)]
pub(crate) struct GuestLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    plugin: Arc<str>,
    redactor: Redactor,
    rate: Arc<TokenBucket>,
    budget: Mutex<Budget>,
}

#[derive(Debug)]
struct Budget {
    left: usize,
    dropped_lines: u64,
    dropped_bytes: u64,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        Self { left: kib(limits.log_kib), dropped_lines: 0, dropped_bytes: 0 }
    }
}

impl GuestLog {
    /// The log of a call of `plugin`, whose secrets `redactor` hides and whose calls together keep to `rate`.
    pub(crate) fn new(plugin: Arc<str>, rate: Arc<TokenBucket>, limits: &Limits, redactor: Redactor) -> Self {
        Self { inner: Arc::new(Inner { plugin, redactor, rate, budget: Mutex::new(Budget::new(limits)) }) }
    }

    /// What all calls of one plugin may write: `log_kib` at once, and as much again in [`LOG_REFILL_S`] seconds.
    pub(crate) fn rate(limits: &Limits) -> TokenBucket {
        TokenBucket::new(kib(limits.log_kib) as u64, Duration::from_secs(LOG_REFILL_S), Instant::now())
    }

    /// How much of a line must be known to write the part of it that is kept: a secret may stand across the cut.
    pub(crate) fn bytes_needed(&self) -> usize {
        LOG_LINE_BYTES.saturating_add(self.inner.redactor.longest())
    }

    /// What a guest wrote, as others may read it: without its secrets, at most `longest` bytes of it.
    pub(crate) fn shown<'t>(&self, text: &'t str, longest: usize) -> Cow<'t, str> {
        self.inner.redactor.prefix(text, longest)
    }

    /// JSON that a guest wrote, without its secrets.
    pub(crate) fn shown_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.inner.redactor.json(text)
    }

    /// Takes `bytes` from the budget. `false`: nothing of it may be kept.
    fn admit(&self, bytes: usize) -> bool {
        let mut budget = self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner);
        match budget.left.checked_sub(bytes) {
            Some(left) => {
                let admitted = self.inner.rate.take(bytes as u64, Instant::now());
                budget.left = left;
                budget.dropped_lines += u64::from(!admitted);
                budget.dropped_bytes += if admitted { 0 } else { bytes as u64 };
                admitted
            }
            None => {
                budget.left = 0;
                budget.dropped_lines += 1;
                budget.dropped_bytes += bytes as u64;
                false
            }
        }
    }

    /// Whether nothing more will be kept, so that cutting lines would be work for nothing.
    pub(crate) fn is_spent(&self) -> bool {
        self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner).left == 0
    }

    /// Counts bytes that nobody looked at.
    pub(crate) fn drop_bytes(&self, bytes: usize) {
        let mut budget = self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.dropped_bytes += bytes as u64;
    }

    /// Writes one line if the budget allows it, cut to the longest line that is kept. `false`: it was dropped.
    pub(crate) fn line(&self, source: LogSource, text: &[u8]) -> bool {
        if !self.admit(text.len() + LINE_COST) {
            return false;
        }
        let kept = self.inner.redactor.bytes(text, LOG_LINE_BYTES);
        let line = String::from_utf8_lossy(&kept);
        let (plugin, stream) = (&*self.inner.plugin, source.as_str());
        match source {
            LogSource::Log => tracing::debug!(target: "plugin", plugin, stream, "{}", Escaped(&line)),
            LogSource::Stdout | LogSource::Stderr | LogSource::Host => {
                tracing::info!(target: "plugin", plugin, stream, "{}", Escaped(&line));
            }
        }
        true
    }

    /// Writes a line of the host's own about this guest.
    pub(crate) fn host_line(&self, text: &str) {
        self.line(LogSource::Host, text.as_bytes());
    }

    /// The log of another call, with a budget of its own. Clones are of that call too.
    pub(crate) fn reset_for_next_call(&self, limits: &Limits) {
        *self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner) = Budget::new(limits);
    }

    /// Says what was dropped, if anything was. Called when the call has ended.
    pub(crate) fn close(&self) {
        let budget = self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner);
        if budget.dropped_bytes > 0 {
            tracing::warn!(
                target: "plugin",
                plugin = &*self.inner.plugin,
                lines = budget.dropped_lines,
                bytes = budget.dropped_bytes,
                "log output was dropped (limit `log_kib`)"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_shared_and_the_rest_is_counted() {
        let limits = Limits { log_kib: 1, ..Limits::default() };
        let logs = GuestLog::new("p".into(), Arc::new(GuestLog::rate(&limits)), &limits, Redactor::default());
        let twin = logs.clone();
        assert!(logs.admit(1_000));
        assert!(!twin.admit(100));
        assert!(!logs.admit(1));
        let budget = logs.inner.budget.lock().unwrap();
        assert_eq!((budget.dropped_lines, budget.dropped_bytes), (2, 101));
        drop(budget);
        twin.reset_for_next_call(&limits);
        assert!(logs.admit(20) && logs.inner.budget.lock().unwrap().dropped_lines == 0, "another call");
    }

    #[test]
    fn calls_of_one_plugin_share_a_rate() {
        let limits = Limits { log_kib: 2, ..Limits::default() };
        let rate = Arc::new(GuestLog::rate(&limits));
        let log = || GuestLog::new("p".into(), Arc::clone(&rate), &limits, Redactor::default());
        assert!(log().admit(1_500));
        assert!(!log().admit(1_500), "another call, at once");
        assert!(log().admit(400));
    }
}
