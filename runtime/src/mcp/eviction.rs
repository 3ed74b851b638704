//! Chooses which session, connection or suspended call is evicted when there are as many as may be.
//!
//! The caller that has the most loses those of the lowest worth. So callers with many displace their own, callers with
//! few keep theirs, and a newcomer is let in. What is at work stays.

use std::collections::HashMap;

use crate::host::Caller;
use crate::sandbox::CallerKey as _;

/// One that has a place.
#[derive(Debug)]
pub(crate) struct EvictionCandidate<K, V> {
    pub(crate) key: K,
    pub(crate) caller: Caller,
    /// The lowest goes first; without one it stays.
    pub(crate) worth: Option<V>,
}

/// At most `most` that are evicted, all of one caller.
pub(crate) fn choose_evicted<K, V: Ord>(holders: Vec<EvictionCandidate<K, V>>, most: usize) -> Vec<K> {
    let mut callers: HashMap<Caller, (usize, Vec<(V, K)>)> = HashMap::new();
    for EvictionCandidate { key, caller, worth } in holders {
        let (count, loose) = callers.entry(caller.key()).or_default();
        *count += 1;
        loose.extend(worth.map(|worth| (worth, key)));
    }
    // With equal counts, the one whose least is worth less.
    let loose = callers.into_values().filter_map(|(count, mut loose)| {
        loose.sort_by(|(one, _), (other, _)| one.cmp(other));
        (!loose.is_empty()).then_some((count, loose))
    });
    let least = |loose: &[(V, K)], other: &[(V, K)]| match (loose.first(), other.first()) {
        (Some((one, _)), Some((other, _))) => other.cmp(one),
        _ => std::cmp::Ordering::Equal,
    };
    let largest =
        loose.max_by(|(count, loose), (more, other)| count.cmp(more).then_with(|| least(loose, other)));
    largest.into_iter().flat_map(|(_, loose)| loose).take(most).map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u8, key: u32, worth: Option<u32>) -> EvictionCandidate<u32, u32> {
        EvictionCandidate { key, caller: Caller::Address([192, 0, 2, number].into()), worth }
    }

    #[test]
    fn the_caller_with_the_most_loses_what_is_worth_least() {
        let holders = || {
            vec![
                from(1, 10, Some(0)),
                from(2, 20, Some(9)),
                from(2, 21, Some(5)),
                from(2, 22, None),
                from(3, 30, Some(0)),
            ]
        };
        assert_eq!(choose_evicted(holders(), 1), [21]);
        assert_eq!(choose_evicted(holders(), 9), [21, 20], "nobody pays for another");
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
