//! Who gets which kept instance, and which have to go.
//!
//! A plain list, the one that rests longest first: there are a hundred at most, of all plugins together, so that looking at
//! each costs less than keeping order would. What is kept does not matter here, so the policy is tried without an engine.

use std::time::{Duration, Instant};

use crate::host::Caller;

/// What all plugins together may keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) instances: usize,
    pub(super) bytes: usize,
    /// How long one may rest.
    pub(super) rest: Duration,
}

/// A version of a plugin; no two have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(pub(super) u64);

/// Something that rests.
#[derive(Debug)]
pub(super) struct Resting<T> {
    pub(super) owner: Owner,
    pub(super) caller: Caller,
    pub(super) since: Instant,
    pub(super) bytes: usize,
    pub(super) kept: T,
}

/// All that rests. Whatever is taken out is handed over, since dropping it takes a while and nobody should wait for that.
#[derive(Debug)]
pub(super) struct Shelf<T> {
    bounds: Bounds,
    resting: Vec<Resting<T>>,
}

impl<T> Shelf<T> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, resting: Vec::new() }
    }

    /// Takes out what this plugin keeps for this caller and for nobody else, the warmest first.
    pub(super) fn take(&mut self, owner: Owner, caller: &Caller, now: Instant) -> Option<T> {
        let rest = self.bounds.rest;
        let is_theirs = |resting: &Resting<T>| {
            resting.owner == owner && resting.caller == *caller && !resting.is_over(rest, now)
        };
        let at = self.resting.iter().rposition(is_theirs)?;
        Some(self.resting.remove(at).kept)
    }

    /// Puts something in, of whose owner at most `most` may rest. What has to go for it: what rests longest, or itself if
    /// there can be no room.
    pub(super) fn put(&mut self, new: Resting<T>, most: usize) -> Vec<T> {
        let Bounds { instances, bytes, .. } = self.bounds;
        if most.min(instances) == 0 || new.bytes > bytes {
            return vec![new.kept];
        }
        let owner = new.owner;
        self.resting.push(new);
        let mut gone = Vec::new();
        while self.count(owner) > most {
            gone.extend(self.remove_first(|resting| resting.owner == owner));
        }
        while self.resting.len() > instances || self.bytes() > bytes {
            gone.extend(self.remove_first(|_| true));
        }
        gone
    }

    /// Takes out what has rested for long enough.
    pub(super) fn ended(&mut self, now: Instant) -> Vec<T> {
        let rest = self.bounds.rest;
        self.resting
            .extract_if(.., |resting| resting.is_over(rest, now))
            .map(|resting| resting.kept)
            .collect()
    }

    /// When there will next be something that has; `None`: nothing rests.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.resting.first().map(|first| first.since + self.bounds.rest)
    }

    /// Takes out everything of an owner.
    pub(super) fn forget(&mut self, owner: Owner) -> Vec<T> {
        self.resting.extract_if(.., |resting| resting.owner == owner).map(|resting| resting.kept).collect()
    }

    /// How much of an owner rests.
    pub(super) fn count(&self, owner: Owner) -> usize {
        self.resting.iter().filter(|resting| resting.owner == owner).count()
    }

    fn bytes(&self) -> usize {
        self.resting.iter().map(|resting| resting.bytes).sum()
    }

    fn remove_first(&mut self, is_it: impl Fn(&Resting<T>) -> bool) -> Option<T> {
        let at = self.resting.iter().position(is_it)?;
        Some(self.resting.remove(at).kept)
    }
}

impl<T> Resting<T> {
    fn is_over(&self, rest: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Owner = Owner(1);
    const OTHER: Owner = Owner(2);

    fn shelf(instances: usize, bytes: usize) -> (Shelf<u32>, Instant) {
        (Shelf::new(Bounds { instances, bytes, rest: Duration::from_secs(60) }), Instant::now())
    }

    fn caller(number: u8) -> Caller {
        Caller::Address([192, 0, 2, number].into())
    }

    fn resting(owner: Owner, from: u8, kept: u32, since: Instant) -> Resting<u32> {
        Resting { owner, caller: caller(from), since, bytes: 10, kept }
    }

    #[test]
    fn nobody_gets_what_is_kept_for_another_caller_or_of_another_plugin() {
        let (mut shelf, now) = shelf(9, 900);
        assert!(shelf.put(resting(ONE, 1, 7, now), 9).is_empty());
        assert_eq!(shelf.take(ONE, &caller(2), now), None);
        assert_eq!(shelf.take(ONE, &Caller::Stdio, now), None);
        assert_eq!(shelf.take(OTHER, &caller(1), now), None);
        assert_eq!(shelf.take(ONE, &caller(1), now), Some(7));
        assert_eq!(shelf.take(ONE, &caller(1), now), None, "one instance serves one call at a time");
    }

    #[test]
    fn the_warmest_is_taken_and_what_rested_for_too_long_is_not() {
        let (mut shelf, start) = shelf(9, 900);
        let after = |s| start + Duration::from_secs(s);
        shelf.put(resting(ONE, 1, 1, start), 9);
        shelf.put(resting(ONE, 1, 2, after(30)), 9);
        shelf.put(resting(ONE, 1, 3, after(31)), 9);
        assert_eq!(shelf.take(ONE, &caller(1), after(60)), Some(3));
        assert_eq!(shelf.next_end(), Some(after(60)));
        assert_eq!(shelf.ended(after(60)), [1]);
        assert_eq!(shelf.next_end(), Some(after(90)));
        assert_eq!(shelf.take(ONE, &caller(1), after(90)), None, "though nobody has taken it out yet");
        assert_eq!(shelf.ended(after(90)), [2]);
        assert_eq!(shelf.next_end(), None);
    }

    #[test]
    fn what_rests_longest_makes_room_first_among_its_own() {
        let (mut shelf, now) = shelf(3, 900);
        shelf.put(resting(OTHER, 1, 1, now), 9);
        shelf.put(resting(ONE, 1, 2, now), 2);
        shelf.put(resting(ONE, 2, 3, now), 2);
        assert_eq!(shelf.put(resting(ONE, 3, 4, now), 2), [2]);
        assert_eq!(shelf.put(resting(OTHER, 3, 5, now), 9), [1], "all together are three");
        assert_eq!((shelf.count(ONE), shelf.count(OTHER)), (2, 1));
        assert_eq!(shelf.forget(ONE), [3, 4]);
        assert_eq!((shelf.count(ONE), shelf.count(OTHER)), (0, 1));
    }

    #[test]
    fn memory_is_counted_and_what_is_too_large_throws_nobody_out() {
        let (mut shelf, now) = shelf(9, 25);
        shelf.put(resting(ONE, 1, 1, now), 9);
        shelf.put(resting(ONE, 1, 2, now), 9);
        assert_eq!(shelf.put(Resting { bytes: 26, ..resting(ONE, 1, 3, now) }, 9), [3]);
        assert_eq!(shelf.put(Resting { bytes: 15, ..resting(ONE, 1, 4, now) }, 9), [1]);
        assert_eq!(shelf.put(resting(ONE, 1, 5, now), 0), [5]);
        let (mut none, now) = self::shelf(0, 25);
        assert_eq!(none.put(resting(ONE, 1, 1, now), 9), [1]);
    }
}
