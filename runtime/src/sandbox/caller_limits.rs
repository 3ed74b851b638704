//! How often each caller may have guests work for it, whatever the plugin.
//!
//! Callers are told apart by where they come from, and there may be many, so those that have been quiet for long enough
//! to start afresh are forgotten.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::TokenBucket;

/// Callers that are told apart. Beyond it, new ones share what is left.
const MOST: usize = 10_000;

/// So often at most it is looked who has been quiet.
const SWEEP: Duration = Duration::from_secs(1);

/// Whoever calls.
pub(crate) trait CallerKey: Hash + Eq + Clone {
    /// The same for all that one caller could take for itself.
    fn key(&self) -> Self;
}

/// The rates of all callers.
#[derive(Debug)]
pub(crate) struct CallerLimits<K> {
    per_second: u64,
    callers: Mutex<CallerRates<K>>,
    others: TokenBucket,
}

#[derive(Debug)]
struct CallerRates<K> {
    rates: HashMap<K, TokenBucket>,
    /// When those who had been quiet were last forgotten.
    swept: Option<Instant>,
}

impl<K: CallerKey> CallerRates<K> {
    /// Forgets who has been quiet, unless it did so a moment ago: a flood of new callers is no reason to look at all
    /// again.
    fn forget_idle(&mut self, now: Instant) {
        if self.swept.is_none_or(|swept| now.saturating_duration_since(swept) >= SWEEP) {
            self.swept = Some(now);
            self.rates.retain(|_, rate| !rate.is_full(now));
        }
    }
}

impl<K: CallerKey> CallerLimits<K> {
    /// Each caller may come `per_second` times.
    pub(crate) fn new(per_second: u64) -> Self {
        let callers = CallerRates { rates: HashMap::new(), swept: None };
        Self { per_second, callers: Mutex::new(callers), others: TokenBucket::per_second(per_second) }
    }

    /// Counts a call of `caller`. `false`: it has called too often.
    pub(crate) fn admit(&self, caller: &K, now: Instant) -> bool {
        let key = caller.key();
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = callers.rates.get(&key) {
            return rate.take(1, now);
        }
        if callers.rates.len() >= MOST {
            callers.forget_idle(now);
        }
        if callers.rates.len() >= MOST {
            return self.others.take(1, now);
        }
        let rate = TokenBucket::new(self.per_second, Duration::from_secs(1), now);
        let admitted = rate.take(1, now);
        callers.rates.insert(key, rate);
        admitted
    }

    /// What each may do in a second.
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
        let callers = CallerLimits::new(2);
        assert!(callers.admit(&1, start) && callers.admit(&1, start));
        assert!(!callers.admit(&1, start));
        assert!(callers.admit(&2, start));
        for caller in 0..2 * MOST {
            callers.admit(&caller, start);
        }
        assert_eq!(callers.callers.lock().unwrap().rates.len(), MOST);
        let soon = start + SWEEP - Duration::from_millis(1);
        assert!(callers.admit(&(3 * MOST), soon));
        assert_eq!(callers.callers.lock().unwrap().rates.len(), MOST, "all were looked at a moment ago");
        assert!(!callers.admit(&(3 * MOST), soon), "new callers share one rate when there are too many");
        assert!(callers.admit(&(3 * MOST), start + Duration::from_secs(2)));
        assert_eq!(callers.callers.lock().unwrap().rates.len(), 1);
    }
}
