//! How often each caller may have guests work for it, whatever the plugin.
//!
//! Callers are told apart by where they come from, and there may be many, so those that have been quiet for long enough to
//! start afresh are forgotten.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Rate;

/// Callers that are told apart. Beyond it, new ones share what is left.
const MOST: usize = 10_000;

/// So often at most it is looked who has been quiet.
const SWEEP: Duration = Duration::from_secs(1);

/// Whoever calls.
pub(crate) trait Origin: Hash + Eq + Clone {
    /// The same for all that one caller could take for itself.
    fn origin(&self) -> Self;
}

/// The rates of all callers.
#[derive(Debug)]
pub(crate) struct Callers<K> {
    per_second: u64,
    known: Mutex<Known<K>>,
    others: Rate,
}

#[derive(Debug)]
struct Known<K> {
    rates: HashMap<K, Rate>,
    /// When those who had been quiet were last forgotten.
    swept: Option<Instant>,
}

impl<K: Origin> Known<K> {
    /// Forgets who has been quiet, unless it did so a moment ago: a flood of strangers is no reason to look at all again.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_none_or(|swept| now.saturating_duration_since(swept) >= SWEEP) {
            self.swept = Some(now);
            self.rates.retain(|_, rate| !rate.is_full(now));
        }
    }
}

impl<K: Origin> Callers<K> {
    /// Each caller may come `per_second` times.
    pub(crate) fn new(per_second: u64) -> Self {
        let known = Known { rates: HashMap::new(), swept: None };
        Self { per_second, known: Mutex::new(known), others: Rate::per_second(per_second) }
    }

    /// Counts a call of `caller`. `false`: it has called too often.
    pub(crate) fn admit(&self, caller: &K, now: Instant) -> bool {
        let origin = caller.origin();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = known.rates.get(&origin) {
            return rate.take(1, now);
        }
        if known.rates.len() >= MOST {
            known.sweep(now);
        }
        if known.rates.len() >= MOST {
            return self.others.take(1, now);
        }
        let rate = Rate::new(self.per_second, Duration::from_secs(1), now);
        let admitted = rate.take(1, now);
        known.rates.insert(origin, rate);
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

    impl Origin for usize {
        fn origin(&self) -> Self {
            *self
        }
    }

    #[test]
    fn callers_do_not_pay_for_each_other_and_the_quiet_are_forgotten() {
        let start = Instant::now();
        let callers = Callers::new(2);
        assert!(callers.admit(&1, start) && callers.admit(&1, start));
        assert!(!callers.admit(&1, start));
        assert!(callers.admit(&2, start));
        for caller in 0..2 * MOST {
            callers.admit(&caller, start);
        }
        assert_eq!(callers.known.lock().unwrap().rates.len(), MOST);
        let soon = start + SWEEP - Duration::from_millis(1);
        assert!(callers.admit(&(3 * MOST), soon));
        assert_eq!(callers.known.lock().unwrap().rates.len(), MOST, "all were looked at a moment ago");
        assert!(!callers.admit(&(3 * MOST), soon), "strangers share one rate when there are too many");
        assert!(callers.admit(&(3 * MOST), start + Duration::from_secs(2)));
        assert_eq!(callers.known.lock().unwrap().rates.len(), 1);
    }
}
