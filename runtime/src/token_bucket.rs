//! A token bucket bounds how often something may happen.
//!
//! A bucket holds the tokens of one period and fills evenly, so that a burst is let through and a flood is not. Time is
//! an argument, so that a test needs no clock. Knows no layer, so any layer may use it.

mod caller_rates;

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

pub(crate) use caller_rates::{CallerKey, CallerRates};

/// A bucket of tokens.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    capacity: f64,
    period: Duration,
    level: Mutex<BucketLevel>,
}

#[derive(Debug)]
struct BucketLevel {
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    /// A full bucket of `capacity` tokens, which fills in a `period`.
    pub(crate) fn new(capacity: u64, period: Duration, now: Instant) -> Self {
        let capacity = capacity as f64;
        Self { capacity, period, level: Mutex::new(BucketLevel { tokens: capacity, at: now }) }
    }

    /// A full bucket of `capacity` tokens, which fills in a second.
    pub(crate) fn per_second(capacity: u64) -> Self {
        Self::new(capacity, Duration::from_secs(1), Instant::now())
    }

    /// Takes `amount` tokens. `false`: there are fewer, and none are taken.
    pub(crate) fn take(&self, amount: u64, now: Instant) -> bool {
        self.take_leaving(0, amount, now)
    }

    /// Takes `amount` tokens if at least `rest` are left after it. `false`: there are fewer, and none are taken.
    pub(crate) fn take_leaving(&self, rest: u64, amount: u64, now: Instant) -> bool {
        let mut level = self.filled(now);
        let (rest, amount) = (rest as f64, amount as f64);
        let enough = level.tokens >= rest + amount;
        if enough {
            level.tokens -= amount;
        }
        enough
    }

    /// Puts back tokens that were not needed.
    pub(crate) fn refund(&self, amount: u64) {
        let mut level = self.level.lock();
        level.tokens = (level.tokens + amount as f64).min(self.capacity);
    }

    /// Whether the bucket is full.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.filled(now).tokens >= self.capacity
    }

    fn filled(&self, now: Instant) -> MutexGuard<'_, BucketLevel> {
        let mut level = self.level.lock();
        let passed = now.saturating_duration_since(level.at).as_secs_f64();
        level.tokens = (level.tokens + passed / self.period.as_secs_f64() * self.capacity).min(self.capacity);
        level.at = level.at.max(now);
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_and_a_flood_is_not() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let bucket = TokenBucket::new(10, Duration::from_secs(1), start);
        assert!((0..10).all(|_| bucket.take(1, start)));
        assert!(!bucket.take(1, start));
        assert!(!bucket.take(1, after(90)));
        assert!(bucket.take(1, after(110)));
        assert!(!bucket.is_full(after(500)));
        assert!(bucket.is_full(after(5_000)));
        assert!(!bucket.take(11, after(5_000)), "more than a period allows never fits");
        assert!(bucket.take(10, after(5_000)));
        bucket.refund(4);
        assert!(!bucket.take_leaving(4, 1, after(5_000)));
        assert!(!bucket.take(5, after(5_000)));
        assert!(bucket.take(4, after(5_000)));
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing_away() {
        let start = Instant::now() + Duration::from_secs(9);
        let bucket = TokenBucket::new(1, Duration::from_secs(1), start);
        assert!(bucket.take(1, start));
        assert!(!bucket.take(1, start - Duration::from_secs(5)));
        assert!(!bucket.take(1, start));
    }
}
