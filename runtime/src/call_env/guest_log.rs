//! Everything that a guest writes for people to read: log messages, stdout and stderr, under one budget per call.
//!
//! There is one budget, because three would let a guest write three times as much. Text beyond it is counted and
//! reported in one line when the call ends. It never traps the guest, and a guest's text never reaches the server's own
//! stdout.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::config::fixed_limits::{LOG_LINE_BYTES, LOG_REFILL_S};
use crate::config::{Limits, kib};
use crate::observe::{Escaped, Redactor};
use crate::token_bucket::TokenBucket;

/// Bytes that a line counts beside its text: a time, a level and a name are written with it, and a guest that prints a
/// million short lines must not fill a disk either.
const LINE_OVERHEAD: usize = 64;

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
    bucket: Arc<TokenBucket>,
    budget: Mutex<LogBudget>,
}

/// How much text the call may still write, in bytes, and what was dropped.
#[derive(Debug)]
struct LogBudget {
    left: usize,
    dropped_lines: u64,
    dropped_bytes: u64,
}

impl LogBudget {
    fn new(limits: &Limits) -> Self {
        Self { left: kib(limits.log_kib), dropped_lines: 0, dropped_bytes: 0 }
    }
}

impl GuestLog {
    /// The log of a call of `plugin`. `redactor` redacts the plugin's secrets, and `bucket` bounds all its calls
    /// together.
    pub(crate) fn new(
        plugin: Arc<str>,
        bucket: Arc<TokenBucket>,
        limits: &Limits,
        redactor: Redactor,
    ) -> Self {
        Self {
            inner: Arc::new(Inner { plugin, redactor, bucket, budget: Mutex::new(LogBudget::new(limits)) }),
        }
    }

    /// The bucket that bounds what all calls of one plugin write: `log_kib` at once, and as much again in
    /// [`LOG_REFILL_S`] seconds.
    pub(crate) fn token_bucket(limits: &Limits) -> TokenBucket {
        TokenBucket::new(kib(limits.log_kib) as u64, Duration::from_secs(LOG_REFILL_S), Instant::now())
    }

    /// How much of a line must be buffered to write its beginning, since a secret may lie across the cut.
    pub(crate) fn bytes_needed(&self) -> usize {
        LOG_LINE_BYTES.saturating_add(self.inner.redactor.longest())
    }

    /// A guest's text as others may read it: with its secrets redacted, at most `longest` bytes.
    pub(crate) fn shown<'t>(&self, text: &'t str, longest: usize) -> Cow<'t, str> {
        self.inner.redactor.prefix(text, longest)
    }

    /// A guest's JSON with its secrets redacted.
    pub(crate) fn shown_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.inner.redactor.json(text)
    }

    /// Takes `bytes` from the budget. `false`: the line is dropped.
    fn admit(&self, bytes: usize) -> bool {
        let mut budget = self.inner.budget.lock();
        match budget.left.checked_sub(bytes) {
            Some(left) => {
                let admitted = self.inner.bucket.take(bytes as u64, Instant::now());
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

    /// Whether the budget is used up, so that further text need not be split into lines.
    pub(crate) fn is_spent(&self) -> bool {
        self.inner.budget.lock().left == 0
    }

    /// Counts bytes that are dropped without being split into lines.
    pub(crate) fn drop_bytes(&self, bytes: usize) {
        let mut budget = self.inner.budget.lock();
        budget.dropped_bytes += bytes as u64;
    }

    /// Writes one line if the budget allows it, cut to [`LOG_LINE_BYTES`]. `false`: the line was dropped.
    pub(crate) fn line(&self, source: LogSource, text: &[u8]) -> bool {
        if !self.admit(text.len() + LINE_OVERHEAD) {
            return false;
        }
        let text = self.inner.redactor.bytes(text, LOG_LINE_BYTES);
        let line = String::from_utf8_lossy(&text);
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

    /// Begins the log of another call, with a new budget. Clones write to it too.
    pub(crate) fn reset_for_next_call(&self, limits: &Limits) {
        *self.inner.budget.lock() = LogBudget::new(limits);
    }

    /// Logs how much was dropped, if anything was. Called when the call has ended.
    pub(crate) fn close(&self) {
        let budget = self.inner.budget.lock();
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
        let bucket = Arc::new(GuestLog::token_bucket(&limits));
        let logs = GuestLog::new("p".into(), bucket, &limits, Redactor::default());
        let twin = logs.clone();
        assert!(logs.admit(1_000));
        assert!(!twin.admit(100));
        assert!(!logs.admit(1));
        let budget = logs.inner.budget.lock();
        assert_eq!((budget.dropped_lines, budget.dropped_bytes), (2, 101));
        drop(budget);
        twin.reset_for_next_call(&limits);
        assert!(logs.admit(20) && logs.inner.budget.lock().dropped_lines == 0, "another call");
    }

    #[test]
    fn calls_of_one_plugin_share_a_token_bucket() {
        let limits = Limits { log_kib: 2, ..Limits::default() };
        let bucket = Arc::new(GuestLog::token_bucket(&limits));
        let log = || GuestLog::new("p".into(), Arc::clone(&bucket), &limits, Redactor::default());
        assert!(log().admit(1_500));
        assert!(!log().admit(1_500), "another call, at once");
        assert!(log().admit(400));
    }
}
