//! Which idle instance a call gets, and which ones are evicted.
//!
//! A plain list, longest idle first. All plugins together have a hundred instances at most, so a linear search is
//! cheaper than an index. The list is generic, so that the policy is tested without an engine.

use std::time::{Duration, Instant};

use crate::call_env::Caller;

/// Bounds on the idle instances of all plugins together.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolLimits {
    pub(super) instances: usize,
    pub(super) bytes: usize,
    /// How long an instance may be idle.
    pub(super) idle_time: Duration,
}

/// A version of a plugin; no two have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(pub(super) u64);

/// An idle instance.
#[derive(Debug)]
pub(super) struct IdleInstance<T> {
    pub(super) owner: Owner,
    pub(super) caller: Caller,
    pub(super) since: Instant,
    pub(super) bytes: usize,
    pub(super) instance: T,
}

/// All idle instances. Removed instances are returned, so that the caller can drop them, which takes a while, outside
/// the lock.
#[derive(Debug)]
pub(super) struct IdleList<T> {
    bounds: PoolLimits,
    idle: Vec<IdleInstance<T>>,
}

impl<T> IdleList<T> {
    pub(super) fn new(bounds: PoolLimits) -> Self {
        Self { bounds, idle: Vec::new() }
    }

    /// Takes an instance that served this caller of this plugin; the one that was idle for the shortest time first.
    pub(super) fn take(&mut self, owner: Owner, caller: &Caller, now: Instant) -> Option<T> {
        let idle_time = self.bounds.idle_time;
        let is_theirs = |idle: &IdleInstance<T>| {
            idle.owner == owner && idle.caller == *caller && !idle.is_expired(idle_time, now)
        };
        let at = self.idle.iter().rposition(is_theirs)?;
        Some(self.idle.remove(at).instance)
    }

    /// Adds an instance; its owner may have `max` idle ones. Returns the evicted instances: those that were idle
    /// longest, or the new one if it exceeds a bound by itself.
    pub(super) fn put(&mut self, new: IdleInstance<T>, max: usize) -> Vec<T> {
        let PoolLimits { instances, bytes, .. } = self.bounds;
        if max.min(instances) == 0 || new.bytes > bytes {
            return vec![new.instance];
        }
        let owner = new.owner;
        self.idle.push(new);
        let mut evicted = Vec::new();
        while self.count(owner) > max {
            evicted.extend(self.remove_first(|idle| idle.owner == owner));
        }
        while self.idle.len() > instances || self.bytes() > bytes {
            evicted.extend(self.remove_first(|_| true));
        }
        evicted
    }

    /// Takes instances whose idle time has ended.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<T> {
        let idle_time = self.bounds.idle_time;
        self.idle.extract_if(.., |idle| idle.is_expired(idle_time, now)).map(|idle| idle.instance).collect()
    }

    /// When the idle time of the next instance ends; `None`: none is idle.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.idle.first().map(|first| first.since + self.bounds.idle_time)
    }

    /// Takes all instances of an owner.
    pub(super) fn forget(&mut self, owner: Owner) -> Vec<T> {
        self.idle.extract_if(.., |idle| idle.owner == owner).map(|idle| idle.instance).collect()
    }

    /// Idle instances of an owner.
    pub(super) fn count(&self, owner: Owner) -> usize {
        self.idle.iter().filter(|idle| idle.owner == owner).count()
    }

    fn bytes(&self) -> usize {
        self.idle.iter().map(|idle| idle.bytes).sum()
    }

    fn remove_first(&mut self, is_it: impl Fn(&IdleInstance<T>) -> bool) -> Option<T> {
        let at = self.idle.iter().position(is_it)?;
        Some(self.idle.remove(at).instance)
    }
}

impl<T> IdleInstance<T> {
    fn is_expired(&self, idle_time: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= idle_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Owner = Owner(1);
    const OTHER: Owner = Owner(2);

    fn list(instances: usize, bytes: usize) -> (IdleList<u32>, Instant) {
        (IdleList::new(PoolLimits { instances, bytes, idle_time: Duration::from_secs(60) }), Instant::now())
    }

    fn caller(number: u8) -> Caller {
        Caller::Address([192, 0, 2, number].into())
    }

    fn idle(owner: Owner, from: u8, instance: u32, since: Instant) -> IdleInstance<u32> {
        IdleInstance { owner, caller: caller(from), since, bytes: 10, instance }
    }

    #[test]
    fn nobody_gets_an_idle_instance_of_another_caller_or_of_another_plugin() {
        let (mut list, now) = list(9, 900);
        assert!(list.put(idle(ONE, 1, 7, now), 9).is_empty());
        assert_eq!(list.take(ONE, &caller(2), now), None);
        assert_eq!(list.take(ONE, &Caller::Stdio, now), None);
        assert_eq!(list.take(OTHER, &caller(1), now), None);
        assert_eq!(list.take(ONE, &caller(1), now), Some(7));
        assert_eq!(list.take(ONE, &caller(1), now), None, "one instance serves one call at a time");
    }

    #[test]
    fn the_warmest_is_taken_and_what_was_idle_for_too_long_is_not() {
        let (mut list, start) = list(9, 900);
        let after = |s| start + Duration::from_secs(s);
        list.put(idle(ONE, 1, 1, start), 9);
        list.put(idle(ONE, 1, 2, after(30)), 9);
        list.put(idle(ONE, 1, 3, after(31)), 9);
        assert_eq!(list.take(ONE, &caller(1), after(60)), Some(3));
        assert_eq!(list.next_expiry(), Some(after(60)));
        assert_eq!(list.take_expired(after(60)), [1]);
        assert_eq!(list.next_expiry(), Some(after(90)));
        assert_eq!(list.take(ONE, &caller(1), after(90)), None, "though nobody has taken it out yet");
        assert_eq!(list.take_expired(after(90)), [2]);
        assert_eq!(list.next_expiry(), None);
    }

    #[test]
    fn what_is_idle_longest_is_evicted_first_among_its_own() {
        let (mut list, now) = list(3, 900);
        list.put(idle(OTHER, 1, 1, now), 9);
        list.put(idle(ONE, 1, 2, now), 2);
        list.put(idle(ONE, 2, 3, now), 2);
        assert_eq!(list.put(idle(ONE, 3, 4, now), 2), [2]);
        assert_eq!(list.put(idle(OTHER, 3, 5, now), 9), [1], "all together are three");
        assert_eq!((list.count(ONE), list.count(OTHER)), (2, 1));
        assert_eq!(list.forget(ONE), [3, 4]);
        assert_eq!((list.count(ONE), list.count(OTHER)), (0, 1));
    }

    #[test]
    fn memory_is_counted_and_what_is_too_large_throws_nobody_out() {
        let (mut list, now) = list(9, 25);
        list.put(idle(ONE, 1, 1, now), 9);
        list.put(idle(ONE, 1, 2, now), 9);
        assert_eq!(list.put(IdleInstance { bytes: 26, ..idle(ONE, 1, 3, now) }, 9), [3]);
        assert_eq!(list.put(IdleInstance { bytes: 15, ..idle(ONE, 1, 4, now) }, 9), [1]);
        assert_eq!(list.put(idle(ONE, 1, 5, now), 0), [5]);
        let (mut none, now) = self::list(0, 25);
        assert_eq!(none.put(idle(ONE, 1, 1, now), 9), [1]);
    }
}
