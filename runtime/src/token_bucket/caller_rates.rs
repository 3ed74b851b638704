//! How often each caller may do something.
//!
//! There may be many callers. When there are [`MAX_CALLERS`], those whose token bucket is full again are forgotten.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::TokenBucket;

/// Callers with a token bucket of their own. Beyond it, new callers share one bucket.
const MAX_CALLERS: usize = 10_000;

/// Shortest time between two searches for full buckets.
const SWEEP: Duration = Duration::from_secs(1);

/// What tells callers apart.
pub(crate) trait CallerKey: Hash + Eq + Clone {
    /// The key under which this caller is counted: the same for all addresses that one caller could use.
    fn key(&self) -> Self;
}

/// The token buckets of all callers.
#[derive(Debug)]
pub(crate) struct CallerRates<K> {
    capacity: u64,
    period: Duration,
    callers: Mutex<CallerBuckets<K>>,
    /// For callers beyond [`MAX_CALLERS`].
    shared: TokenBucket,
}

#[derive(Debug)]
struct CallerBuckets<K> {
    buckets: HashMap<K, TokenBucket>,
    /// When full buckets were last removed.
    swept: Option<Instant>,
}

impl<K: CallerKey> CallerBuckets<K> {
    /// Removes full buckets, at most once in [`SWEEP`]: each new caller of a flood would otherwise search all of them.
    fn forget_idle(&mut self, now: Instant) {
        if self.swept.is_none_or(|swept| now.saturating_duration_since(swept) >= SWEEP) {
            self.swept = Some(now);
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
    }
}

impl<K: CallerKey> CallerRates<K> {
    /// Each caller has a bucket of `capacity` tokens, which fills in a `period`.
    pub(crate) fn new(capacity: u64, period: Duration) -> Self {
        let callers = Mutex::new(CallerBuckets { buckets: HashMap::new(), swept: None });
        Self { capacity, period, callers, shared: TokenBucket::new(capacity, period, Instant::now()) }
    }

    /// Each caller has a bucket of `capacity` tokens, which fills in a second.
    pub(crate) fn per_second(capacity: u64) -> Self {
        Self::new(capacity, Duration::from_secs(1))
    }

    /// Takes a token of `caller`. `false`: it has none.
    pub(crate) fn admit(&self, caller: &K, now: Instant) -> bool {
        let key = caller.key();
        let mut callers = self.callers.lock();
        if let Some(bucket) = callers.buckets.get(&key) {
            return bucket.take(1, now);
        }
        if callers.buckets.len() >= MAX_CALLERS {
            callers.forget_idle(now);
        }
        if callers.buckets.len() >= MAX_CALLERS {
            return self.shared.take(1, now);
        }
        let bucket = TokenBucket::new(self.capacity, self.period, now);
        let admitted = bucket.take(1, now);
        callers.buckets.insert(key, bucket);
        admitted
    }

    /// The tokens of a full bucket.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CallerKey for usize {
        fn key(&self) -> Self {
            *self
        }
    }

    #[test]
    fn callers_do_not_pay_for_each_other_and_the_quiet_are_forgotten() {
        let start = Instant::now();
        let callers = CallerRates::per_second(2);
        assert!(callers.admit(&1, start) && callers.admit(&1, start));
        assert!(!callers.admit(&1, start));
        assert!(callers.admit(&2, start));
        for caller in 0..2 * MAX_CALLERS {
            callers.admit(&caller, start);
        }
        assert_eq!(callers.callers.lock().buckets.len(), MAX_CALLERS);
        let soon = start + SWEEP - Duration::from_millis(1);
        assert!(callers.admit(&(3 * MAX_CALLERS), soon));
        assert_eq!(callers.callers.lock().buckets.len(), MAX_CALLERS, "the last search was a moment ago");
        assert!(
            !callers.admit(&(3 * MAX_CALLERS), soon),
            "new callers share one bucket when there are too many"
        );
        assert!(callers.admit(&(3 * MAX_CALLERS), start + Duration::from_secs(2)));
        assert_eq!(callers.callers.lock().buckets.len(), 1);
    }
}
