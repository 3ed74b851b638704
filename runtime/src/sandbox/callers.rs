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

/// The rates of all callers.
#[derive(Debug)]
pub(crate) struct Callers<K> {
    per_second: u64,
    rates: Mutex<HashMap<K, Rate>>,
    others: Rate,
}

impl<K: Hash + Eq + Clone> Callers<K> {
    /// Each caller may come `per_second` times.
    pub(crate) fn new(per_second: u64) -> Self {
        Self { per_second, rates: Mutex::default(), others: Rate::per_second(per_second) }
    }

    /// Counts a call of `caller`. `false`: it has called too often.
    pub(crate) fn admit(&self, caller: &K, now: Instant) -> bool {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = rates.get(caller) {
            return rate.take(1, now);
        }
        if rates.len() >= MOST {
            rates.retain(|_, rate| !rate.is_full(now));
        }
        if rates.len() >= MOST {
            return self.others.take(1, now);
        }
        let rate = Rate::new(self.per_second, Duration::from_secs(1), now);
        let admitted = rate.take(1, now);
        rates.insert(caller.clone(), rate);
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
        assert_eq!(callers.rates.lock().unwrap().len(), MOST);
        assert!(!callers.admit(&(3 * MOST), start), "strangers share one rate when there are too many");
        assert!(callers.admit(&(3 * MOST), start + Duration::from_secs(2)));
        assert_eq!(callers.rates.lock().unwrap().len(), 1);
    }
}
