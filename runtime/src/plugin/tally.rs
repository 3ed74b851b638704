//! What a plugin's calls have come to since it was loaded, for operators who look.
//!
//! Every call passes here, so counting is a few atomic additions and no lock; only a call that hit a limit takes one. The
//! counts are fed by the [record](super::Record) of each call and by nothing else, so that they and the audit agree. What the
//! server asks for itself, the lists, is no call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Plugin;

/// How often what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that began.
    pub begun: u64,
    /// Of those, not over yet; also those that wait for their clients.
    pub running: u64,
    /// Answered.
    pub ok: u64,
    /// Without an answer and not by force: with the plugin's own error, an answer beyond a limit, or the server's fault.
    pub failed: u64,
    /// Ended by force, since a limit was hit, or because the guest crashed or broke its contract.
    pub forced: u64,
    /// Withdrawn by the client, or ended because the plugin was replaced or taken away.
    pub cancelled: u64,
    /// Refused before they began.
    pub refused: u64,
    /// Fuel that all of them used.
    pub fuel: u64,
    /// When the last one began.
    pub last: Option<SystemTime>,
    /// The limits that were hit, and how often.
    pub limits: BTreeMap<&'static str, u64>,
}

/// How a call that began has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Ok,
    Failed,
    Forced,
    Cancelled,
}

/// The counts, as calls add to them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    begun: AtomicU64,
    running: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    forced: AtomicU64,
    cancelled: AtomicU64,
    refused: AtomicU64,
    fuel: AtomicU64,
    /// Milliseconds since 1970; zero: never.
    last: AtomicU64,
    /// By names that this program has, so there are never many.
    limits: Mutex<BTreeMap<&'static str, u64>>,
}

impl Counts {
    pub(super) fn began(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        add(&self.begun, 1);
        add(&self.running, 1);
    }

    pub(super) fn ended(&self, end: End, fuel: u64) {
        let count = match end {
            End::Ok => &self.ok,
            End::Failed => &self.failed,
            End::Forced => &self.forced,
            End::Cancelled => &self.cancelled,
        };
        add(count, 1);
        add(&self.fuel, fuel);
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self) {
        add(&self.refused, 1);
    }

    pub(super) fn hit(&self, limit: &'static str) {
        *self.limits().entry(limit).or_default() += 1;
    }

    pub(super) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn read(&self) -> Tally {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let last = Some(of(&self.last)).filter(|last| *last > 0);
        Tally {
            begun: of(&self.begun),
            running: of(&self.running),
            ok: of(&self.ok),
            failed: of(&self.failed),
            forced: of(&self.forced),
            cancelled: of(&self.cancelled),
            refused: of(&self.refused),
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
    pub fn tally(&self) -> Tally {
        self.counts.read()
    }

    /// Calls that are not over yet.
    #[must_use]
    pub fn running(&self) -> u64 {
        self.counts.running()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_how_they_end() {
        let counts = Counts::default();
        assert_eq!(counts.read(), Tally::default());
        let ends = [End::Ok, End::Failed, End::Forced, End::Cancelled, End::Ok];
        ends.iter().for_each(|_| counts.began());
        counts.began();
        assert_eq!(counts.running(), 6);
        ends.iter().for_each(|end| counts.ended(*end, 7));
        counts.refused();
        counts.hit("wall_ms");
        counts.hit("wall_ms");
        let tally = counts.read();
        assert_eq!((tally.begun, tally.running, tally.fuel), (6, 1, 35));
        assert_eq!((tally.ok, tally.failed, tally.forced), (2, 1, 1));
        assert_eq!((tally.cancelled, tally.refused), (1, 1));
        assert_eq!(tally.limits, BTreeMap::from([("wall_ms", 2)]));
        assert!(tally.last.is_some_and(|last| last.elapsed().is_ok_and(|ago| ago < Duration::from_secs(60))));
    }
}
