//! Counters of a plugin's calls since it was loaded, for `plugport status`.
//!
//! Every call passes here, so counting is a few atomic additions and no lock; only a call that hit a limit takes one.
//! The counts are fed by the [record](super::AuditRecord) of each call and by nothing else, so that they and the audit
//! agree. What the server asks for itself, the lists, is no call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Plugin;

/// How often what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterSnapshot {
    /// Calls that began.
    pub begun: u64,
    /// Of those, not over yet; also those that wait for their clients.
    pub running: u64,
    /// Answered.
    pub ok: u64,
    /// Without an answer and not by force: with the plugin's own error, an answer beyond a limit, or the server's
    /// fault.
    pub failed: u64,
    /// Ended by force, since a limit was hit, or because the guest trapped or its result was invalid.
    pub terminated: u64,
    /// Withdrawn by the client, or ended because the plugin was replaced or taken away.
    pub cancelled: u64,
    /// Rejected before they began.
    pub rejected: u64,
    /// Fuel that all of them used.
    pub fuel: u64,
    /// When the last one began.
    pub last: Option<SystemTime>,
    /// The limits that were hit, and how often.
    pub limits: BTreeMap<&'static str, u64>,
}

/// How a call that began has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Ok,
    Failed,
    Terminated,
    Cancelled,
}

/// The counts, as calls add to them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    begun: AtomicU64,
    running: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    terminated: AtomicU64,
    cancelled: AtomicU64,
    rejected: AtomicU64,
    fuel: AtomicU64,
    /// Milliseconds since 1970; zero: never.
    last: AtomicU64,
    /// By names that this program has, so there are never many.
    limits: Mutex<BTreeMap<&'static str, u64>>,
}

impl Counters {
    pub(super) fn began(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        add(&self.begun, 1);
        add(&self.running, 1);
    }

    pub(super) fn ended(&self, end: CallEnd, fuel: u64) {
        let count = match end {
            CallEnd::Ok => &self.ok,
            CallEnd::Failed => &self.failed,
            CallEnd::Terminated => &self.terminated,
            CallEnd::Cancelled => &self.cancelled,
        };
        add(count, 1);
        add(&self.fuel, fuel);
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn rejected(&self) {
        add(&self.rejected, 1);
    }

    pub(super) fn hit(&self, limit: &'static str) {
        *self.limits().entry(limit).or_default() += 1;
    }

    pub(super) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn read(&self) -> CounterSnapshot {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let last = Some(of(&self.last)).filter(|last| *last > 0);
        CounterSnapshot {
            begun: of(&self.begun),
            running: of(&self.running),
            ok: of(&self.ok),
            failed: of(&self.failed),
            terminated: of(&self.terminated),
            cancelled: of(&self.cancelled),
            rejected: of(&self.rejected),
            fuel: of(&self.fuel),
            last: last.and_then(|last| UNIX_EPOCH.checked_add(Duration::from_millis(last))),
            limits: self.limits().clone(),
        }
    }

    fn limits(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Plugin {
    /// What its calls have come to.
    #[must_use]
    pub fn counters(&self) -> CounterSnapshot {
        self.counters.read()
    }

    /// Calls that are not over yet.
    #[must_use]
    pub fn running(&self) -> u64 {
        self.counters.running()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_how_they_end() {
        let counters = Counters::default();
        assert_eq!(counters.read(), CounterSnapshot::default());
        let ends = [CallEnd::Ok, CallEnd::Failed, CallEnd::Terminated, CallEnd::Cancelled, CallEnd::Ok];
        ends.iter().for_each(|_| counters.began());
        counters.began();
        assert_eq!(counters.running(), 6);
        ends.iter().for_each(|end| counters.ended(*end, 7));
        counters.rejected();
        counters.hit("wall_ms");
        counters.hit("wall_ms");
        let snapshot = counters.read();
        assert_eq!((snapshot.begun, snapshot.running, snapshot.fuel), (6, 1, 35));
        assert_eq!((snapshot.ok, snapshot.failed, snapshot.terminated), (2, 1, 1));
        assert_eq!((snapshot.cancelled, snapshot.rejected), (1, 1));
        assert_eq!(snapshot.limits, BTreeMap::from([("wall_ms", 2)]));
        assert!(
            snapshot.last.is_some_and(|last| last.elapsed().is_ok_and(|ago| ago < Duration::from_secs(60)))
        );
    }
}
