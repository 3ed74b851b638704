//! A bounded map from the SHA-256 of a token to what is known about the token. Each entry expires.
//!
//! Clients can send any number of tokens, so the map is bounded, and inserting an entry never scans the map. It has two
//! generations. New entries go into the young generation; when that is full, it becomes the old one, and the previous
//! old generation is dropped. A look-up moves its entry to the young generation, so entries in use stay. Time is an
//! argument, so that tests need no clock.

use std::collections::HashMap;
use std::mem;
use std::time::SystemTime;

use parking_lot::Mutex;

/// A SHA-256.
pub(super) type Digest = [u8; 32];

/// A bounded map whose entries expire.
pub(super) struct ExpiringMap<V> {
    /// Maximum number of entries of one generation.
    capacity: usize,
    generations: Mutex<Generations<V>>,
}

struct Generations<V> {
    young: HashMap<Digest, ExpiringValue<V>>,
    old: HashMap<Digest, ExpiringValue<V>>,
}

struct ExpiringValue<V> {
    value: V,
    until: SystemTime,
}

impl<V: Clone> ExpiringMap<V> {
    /// An empty map for at most `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let generations = Generations { young: HashMap::new(), old: HashMap::new() };
        Self { capacity: (capacity / 2).max(1), generations: Mutex::new(generations) }
    }

    /// Returns the value for a digest, unless it has expired.
    pub(super) fn get(&self, digest: &Digest, now: SystemTime) -> Option<V> {
        let mut generations = self.generations.lock();
        if let Some(entry) = generations.young.get(digest) {
            if now < entry.until {
                return Some(entry.value.clone());
            }
            generations.young.remove(digest);
            return None;
        }
        let entry = generations.old.remove(digest).filter(|entry| now < entry.until)?;
        let value = entry.value.clone();
        let dropped = generations.insert(*digest, entry, self.capacity);
        drop(generations);
        drop(dropped);
        Some(value)
    }

    /// Inserts a value that expires at `until`.
    pub(super) fn insert(&self, digest: Digest, value: V, until: SystemTime) {
        // The generation is dropped after the lock is released, because dropping it takes long.
        let dropped = self.generations.lock().insert(digest, ExpiringValue { value, until }, self.capacity);
        drop(dropped);
    }
}

impl<V> Generations<V> {
    /// Inserts an entry into the young generation. Returns the generation that is to be dropped.
    fn insert(
        &mut self,
        digest: Digest,
        entry: ExpiringValue<V>,
        capacity: usize,
    ) -> HashMap<Digest, ExpiringValue<V>> {
        let is_full = self.young.len() >= capacity && !self.young.contains_key(&digest);
        let dropped = match is_full {
            true => mem::replace(&mut self.old, mem::take(&mut self.young)),
            false => HashMap::new(),
        };
        self.old.remove(&digest);
        self.young.insert(digest, entry);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn digest(number: usize) -> Digest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_le_bytes());
        digest
    }

    fn len(map: &ExpiringMap<usize>) -> usize {
        let generations = map.generations.lock();
        generations.young.len() + generations.old.len()
    }

    #[test]
    fn an_entry_is_gone_at_its_time() {
        let map = ExpiringMap::new(10);
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        map.insert(digest(1), 1, until);
        assert_eq!(map.get(&digest(1), until - Duration::from_millis(1)), Some(1));
        assert_eq!((map.get(&digest(1), until), len(&map)), (None, 0));
        assert_eq!(map.get(&digest(2), SystemTime::UNIX_EPOCH), None);
    }

    #[test]
    fn a_flood_does_not_grow_it_and_does_not_push_out_what_is_used() {
        let now = SystemTime::UNIX_EPOCH;
        let until = now + Duration::from_secs(100);
        let map = ExpiringMap::new(100);
        map.insert(digest(0), 0, until);
        for number in 1..10_000 {
            map.insert(digest(number), number, until);
            assert!(len(&map) <= 100);
            if number % 40 == 0 {
                assert_eq!(map.get(&digest(0), now), Some(0), "it was used {number} insertions ago");
            }
        }
        assert_eq!(map.get(&digest(9_999), now), Some(9_999));
        assert_eq!(map.get(&digest(9_000), now), None);
        let later = until + Duration::from_secs(1);
        map.insert(digest(0), 7, later);
        assert_eq!(map.get(&digest(0), until), Some(7), "the newer value counts");
    }
}
