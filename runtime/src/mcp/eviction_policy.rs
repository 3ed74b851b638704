//! Chooses which session, connection or suspended call is evicted when the limit is reached.
//!
//! The caller with the most of them loses those with the lowest worth. So a caller with many evicts its own, a caller
//! with few keeps them, and a new caller is admitted. What is in use is never evicted.

use std::collections::HashMap;

use crate::call_env::Caller;
use crate::token_bucket::CallerKey as _;

/// A session, connection or suspended call that counts against the limit.
#[derive(Debug)]
pub(crate) struct EvictionCandidate<K, V> {
    pub(crate) key: K,
    pub(crate) caller: Caller,
    /// The candidate with the lowest worth is evicted first; with `None` it is never evicted.
    pub(crate) worth: Option<V>,
}

/// Returns the keys to evict: at most `count`, all of one caller.
pub(crate) fn choose_evicted<K, V: Ord>(candidates: Vec<EvictionCandidate<K, V>>, count: usize) -> Vec<K> {
    let mut callers: HashMap<Caller, (usize, Vec<(V, K)>)> = HashMap::new();
    for EvictionCandidate { key, caller, worth } in candidates {
        let (total, evictable) = callers.entry(caller.key()).or_default();
        *total += 1;
        evictable.extend(worth.map(|worth| (worth, key)));
    }
    let callers = callers.into_values().filter_map(|(total, mut evictable)| {
        evictable.sort_by(|(one, _), (other, _)| one.cmp(other));
        (!evictable.is_empty()).then_some((total, evictable))
    });
    // If several callers have equally many, the one with the lowest worth loses.
    let lower_worth = |one: &[(V, K)], other: &[(V, K)]| match (one.first(), other.first()) {
        (Some((one, _)), Some((other, _))) => other.cmp(one),
        _ => std::cmp::Ordering::Equal,
    };
    let largest = callers.max_by(|(total, one), (other_total, other)| {
        total.cmp(other_total).then_with(|| lower_worth(one, other))
    });
    largest.into_iter().flat_map(|(_, evictable)| evictable).take(count).map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u8, key: u32, worth: Option<u32>) -> EvictionCandidate<u32, u32> {
        EvictionCandidate { key, caller: Caller::Address([192, 0, 2, number].into()), worth }
    }

    #[test]
    fn the_caller_with_the_most_loses_what_is_worth_least() {
        let candidates = || {
            vec![
                from(1, 10, Some(0)),
                from(2, 20, Some(9)),
                from(2, 21, Some(5)),
                from(2, 22, None),
                from(3, 30, Some(0)),
            ]
        };
        assert_eq!(choose_evicted(candidates(), 1), [21]);
        assert_eq!(choose_evicted(candidates(), 9), [21, 20], "nobody pays for another");
    }

    #[test]
    fn what_is_at_work_stays() {
        assert_eq!(choose_evicted(vec![from(1, 10, None), from(1, 11, None), from(2, 20, Some(7))], 1), [20]);
        assert!(choose_evicted(vec![from(1, 10, None)], 1).is_empty());
    }

    #[test]
    fn among_equals_the_least_goes() {
        assert_eq!(
            choose_evicted(vec![from(1, 10, Some(4)), from(2, 20, Some(3)), from(3, 30, Some(5))], 9),
            [20]
        );
    }
}
