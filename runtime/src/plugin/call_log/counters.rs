//! Counters of a plugin's calls since it was loaded, for `plugport status` and for metrics.
//!
//! Every call is counted, so counting is a few atomic additions; only a call that hit a limit or was rejected takes a
//! lock. Only [`AuditRecord`](super::AuditRecord) counts, and `CallLog` for forbidden calls, so the counters and the
//! audit agree. Of the server's own calls of `list-*` functions only the limits that they hit are counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::observe::metrics::CountsByName;

/// The counters at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterSnapshot {
    /// Calls that began.
    pub begun: u64,
    /// Calls that have begun and not ended, suspended ones included.
    pub running: u64,
    /// Calls that ended with a result that is no error.
    pub ok: u64,
    /// Calls that failed and were not terminated: the plugin's own error, a result beyond a limit, or a fault of the
    /// server.
    pub failed: u64,
    /// Calls that the server terminated at a limit, that trapped or exited, or whose result was invalid.
    pub terminated: u64,
    /// Calls that were cancelled after they began, or that ended because the plugin was replaced or removed.
    pub cancelled: u64,
    /// Calls that were rejected before they began.
    pub rejected: u64,
    /// Fuel that all calls used.
    pub fuel: u64,
    /// Processor time that all calls used.
    pub cpu: Duration,
    /// When the last one began.
    pub last: Option<SystemTime>,
    /// The limits that were hit, and how often.
    pub limits: BTreeMap<&'static str, u64>,
    /// Why calls were rejected before they began, and how often.
    pub rejections: BTreeMap<&'static str, u64>,
    /// The grants that were missing when the plugin was denied something, and how often.
    pub denials: BTreeMap<&'static str, u64>,
}

impl CounterSnapshot {
    /// Adds the counts of another version of the same plugin.
    pub(super) fn add(&mut self, other: &Self) {
        self.begun += other.begun;
        self.running += other.running;
        self.ok += other.ok;
        self.failed += other.failed;
        self.terminated += other.terminated;
        self.cancelled += other.cancelled;
        self.rejected += other.rejected;
        self.fuel = self.fuel.saturating_add(other.fuel);
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.last = self.last.max(other.last);
        for (sums, more) in [
            (&mut self.limits, &other.limits),
            (&mut self.rejections, &other.rejections),
            (&mut self.denials, &other.denials),
        ] {
            more.iter().for_each(|(name, times)| *sums.entry(*name).or_default() += times);
        }
    }
}

/// How a call that began has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Ok,
    Failed,
    Terminated,
    Cancelled,
}

/// The counters, which calls add to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    begun: AtomicU64,
    running: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    terminated: AtomicU64,
    cancelled: AtomicU64,
    fuel: AtomicU64,
    cpu_micros: AtomicU64,
    /// Milliseconds since 1970; zero: never.
    last: AtomicU64,
    limits: CountsByName,
    rejections: CountsByName,
    /// Host functions count these.
    denials: Arc<CountsByName>,
}

impl Counters {
    pub(super) fn new(denials: Arc<CountsByName>) -> Self {
        Self { denials, ..Self::default() }
    }

    pub(super) fn began(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        add(&self.begun, 1);
        add(&self.running, 1);
    }

    pub(super) fn ended(&self, end: CallEnd, fuel: u64, cpu: Duration) {
        let count = match end {
            CallEnd::Ok => &self.ok,
            CallEnd::Failed => &self.failed,
            CallEnd::Terminated => &self.terminated,
            CallEnd::Cancelled => &self.cancelled,
        };
        add(count, 1);
        add(&self.fuel, fuel);
        add(&self.cpu_micros, u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX));
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn rejected(&self, reason: &'static str) {
        self.rejections.add(reason);
    }

    pub(super) fn hit(&self, limit: &'static str) {
        self.limits.add(limit);
    }

    pub(super) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn read(&self) -> CounterSnapshot {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let last = Some(of(&self.last)).filter(|last| *last > 0);
        let rejections = self.rejections.read();
        CounterSnapshot {
            begun: of(&self.begun),
            running: of(&self.running),
            ok: of(&self.ok),
            failed: of(&self.failed),
            terminated: of(&self.terminated),
            cancelled: of(&self.cancelled),
            rejected: rejections.values().sum(),
            fuel: of(&self.fuel),
            cpu: Duration::from_micros(of(&self.cpu_micros)),
            last: last.and_then(|last| UNIX_EPOCH.checked_add(Duration::from_millis(last))),
            limits: self.limits.read(),
            rejections,
            denials: self.denials.read(),
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
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
        ends.iter().for_each(|end| counters.ended(*end, 7, Duration::from_millis(2)));
        counters.rejected("quarantined");
        counters.hit("wall_ms");
        counters.hit("wall_ms");
        let snapshot = counters.read();
        assert_eq!((snapshot.begun, snapshot.running, snapshot.fuel), (6, 1, 35));
        assert_eq!((snapshot.ok, snapshot.failed, snapshot.terminated), (2, 1, 1));
        assert_eq!((snapshot.cancelled, snapshot.rejected), (1, 1));
        assert_eq!(snapshot.limits, BTreeMap::from([("wall_ms", 2)]));
        assert_eq!(snapshot.rejections, BTreeMap::from([("quarantined", 1)]));
        assert_eq!(snapshot.cpu, Duration::from_millis(10));
        assert!(
            snapshot.last.is_some_and(|last| last.elapsed().is_ok_and(|ago| ago < Duration::from_secs(60)))
        );
    }
}
