//! The replay cache: used proofs, each remembered until it is too old to be accepted again.
//!
//! A forgotten proof could be used twice, so a full cache forgets nothing and rejects new proofs instead. Only a client
//! with a valid token and its key can add a proof, and one principal may use only a tenth of the cache, so no principal
//! can lock out others. A new cache does not know the proofs from before its start, so it rejects proofs that were made
//! before.
//!
//! Proofs are kept in buckets by the minute in which they expire. An expired bucket is dropped as a whole, so nothing
//! is ever searched. There are only as many buckets as there are minutes in which a proof may expire. A proof whose
//! bucket was dropped stays refused when the clock goes back. Time is an argument, so that tests need no clock.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::proof::AcceptedProof;
use crate::access::oauth::error::TokenError;
use crate::access::oauth::expiring_map::Digest;
use crate::access::oauth::proof_error::ProofError;

/// Maximum number of remembered proofs.
const MAX_PROOFS: usize = 100_000;

/// Maximum number of proofs of one principal: 27 requests a second.
const MAX_PROOFS_PER_PRINCIPAL: usize = MAX_PROOFS / 10;

/// How many seconds one bucket spans.
const BUCKET_SECONDS: u64 = 60;

/// How far the clock of a client may be behind just after the server has started. A proof that was used in these
/// seconds before the previous server ended can be used once more.
const START_LEEWAY: Duration = Duration::from_secs(5);

/// Remembers used proofs.
#[derive(Debug)]
pub(super) struct ReplayCache {
    begun: SystemTime,
    max: usize,
    max_of_one: usize,
    used: Mutex<UsedProofs>,
}

#[derive(Debug, Default)]
struct UsedProofs {
    /// Buckets by their number, which grows with time.
    buckets: BTreeMap<u64, ProofBucket>,
    /// The number up to which buckets were dropped. It never falls, although the clock may go back.
    dropped_to: u64,
}

/// Proofs that expire in the same minute.
#[derive(Debug, Default)]
struct ProofBucket {
    proofs: HashSet<Digest>,
    /// The number of proofs in this bucket by principal.
    shares: HashMap<Arc<str>, usize>,
}

impl ReplayCache {
    /// Makes an empty cache.
    pub(super) fn new(now: SystemTime) -> Self {
        Self::with_capacity(now, MAX_PROOFS, MAX_PROOFS_PER_PRINCIPAL)
    }

    fn with_capacity(begun: SystemTime, max: usize, max_of_one: usize) -> Self {
        Self { begun, max, max_of_one, used: Mutex::default() }
    }

    /// The earliest acceptable time of a proof: an earlier proof may have been used before the cache existed.
    pub(super) fn earliest(&self) -> SystemTime {
        self.begun.checked_sub(START_LEEWAY).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Adds a proof of the principal `holder`.
    ///
    /// # Errors
    /// When the proof was used before or may have been, or the cache is full.
    pub(super) fn insert(
        &self,
        proof: AcceptedProof,
        holder: &Arc<str>,
        now: SystemTime,
    ) -> Result<(), TokenError> {
        let mut used = self.used.lock();
        let expired = used.drop_expired(number(now));
        let UsedProofs { buckets, dropped_to } = &mut *used;
        let bucket = number(proof.until).saturating_add(1);
        if bucket <= *dropped_to {
            return Err(ProofError::NotNow.into());
        }
        if buckets.values().any(|bucket| bucket.proofs.contains(&proof.id)) {
            return Err(ProofError::Replayed.into());
        }
        let count: usize = buckets.values().map(|bucket| bucket.proofs.len()).sum();
        let share: usize = buckets.values().filter_map(|bucket| bucket.shares.get(holder)).sum();
        if count >= self.max || share >= self.max_of_one {
            return Err(TokenError::TooManyProofs);
        }
        let bucket = buckets.entry(bucket).or_default();
        bucket.proofs.insert(proof.id);
        *bucket.shares.entry(Arc::clone(holder)).or_default() += 1;
        // The lock is released first, because dropping a bucket takes long.
        drop(used);
        drop(expired);
        Ok(())
    }
}

impl UsedProofs {
    /// Removes the buckets up to the bucket with the number `now`.
    fn drop_expired(&mut self, now: u64) -> Vec<ProofBucket> {
        self.dropped_to = self.dropped_to.max(now);
        let mut expired = Vec::new();
        while let Some(entry) = self.buckets.first_entry().filter(|entry| *entry.key() <= self.dropped_to) {
            expired.push(entry.remove());
        }
        expired
    }
}

/// The number of the bucket for a time.
fn number(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / BUCKET_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    fn proof(number: u64, until: u64) -> AcceptedProof {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        AcceptedProof { id, until: at(until) }
    }

    #[test]
    fn a_proof_counts_once_until_it_is_too_old() {
        let cache = ReplayCache::new(at(0));
        let ada: Arc<str> = "ada".into();
        for until in [300, 330, 359, 360, 600] {
            assert_eq!(cache.insert(proof(until, until), &ada, at(0)), Ok(()));
            let replayed = Err(TokenError::Proof(ProofError::Replayed));
            assert_eq!(cache.insert(proof(until, until), &ada, at(until - 1)), replayed, "{until}");
        }
        assert_eq!(cache.insert(proof(1, 800), &ada, at(700)), Ok(()));
        assert_eq!(cache.used.lock().buckets.len(), 1, "what is too old is forgotten");
    }

    #[test]
    fn a_proof_counts_once_although_the_clock_goes_back() {
        let cache = ReplayCache::new(at(0));
        let ada: Arc<str> = "ada".into();
        assert_eq!(cache.insert(proof(1, 300), &ada, at(0)), Ok(()));
        assert_eq!(cache.insert(proof(2, 660), &ada, at(360)), Ok(()), "the first one is forgotten");
        let not_now = Err(TokenError::Proof(ProofError::NotNow));
        assert_eq!(cache.insert(proof(1, 300), &ada, at(10)), not_now);
        let replayed = Err(TokenError::Proof(ProofError::Replayed));
        assert_eq!(cache.insert(proof(2, 660), &ada, at(10)), replayed);
        assert_eq!(cache.insert(proof(3, 661), &ada, at(361)), Ok(()));
    }

    #[test]
    fn a_full_cache_rejects_and_forgets_nothing() {
        let cache = ReplayCache::with_capacity(at(0), 20, 10);
        let holders: [Arc<str>; 3] = ["ada".into(), "bob".into(), "eve".into()];
        for number in 0..10 {
            assert_eq!(cache.insert(proof(number, 300), &holders[0], at(0)), Ok(()));
        }
        let full = Err(TokenError::TooManyProofs);
        assert_eq!(cache.insert(proof(10, 300), &holders[0], at(0)), full, "her share");
        for number in 20..30 {
            assert_eq!(cache.insert(proof(number, 400), &holders[1], at(0)), Ok(()));
        }
        assert_eq!(cache.insert(proof(30, 300), &holders[2], at(0)), full, "the whole");
        let replayed = Err(TokenError::Proof(ProofError::Replayed));
        assert_eq!(cache.insert(proof(0, 300), &holders[0], at(0)), replayed, "the first is known");
        assert_eq!(cache.insert(proof(31, 900), &holders[0], at(360)), Ok(()), "there is room again");
        assert_eq!(cache.insert(proof(20, 400), &holders[1], at(360)), replayed);
    }

    #[test]
    fn what_was_made_before_the_start_is_too_old() {
        assert_eq!(ReplayCache::new(at(10)).earliest(), at(5));
    }
}
