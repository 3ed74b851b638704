//! How often each caller may call, over all plugins.
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
    per_second: u64,
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
    /// Each caller may call `per_second` times in a second.
    pub(crate) fn new(per_second: u64) -> Self {
        let callers = CallerBuckets { buckets: HashMap::new(), swept: None };
        Self { per_second, callers: Mutex::new(callers), shared: TokenBucket::per_second(per_second) }
    }

    /// Counts a call of `caller`. `false`: it has called too often.
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
        let bucket = TokenBucket::new(self.per_second, Duration::from_secs(1), now);
        let admitted = bucket.take(1, now);
        callers.buckets.insert(key, bucket);
        admitted
    }

    /// Calls of each caller in a second.
    pub(crate) fn per_second(&self) -> u64 {
        self.per_second
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
        let callers = CallerRates::new(2);
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
