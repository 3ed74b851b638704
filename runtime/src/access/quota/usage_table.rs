//! What each caller has used by each role, in memory.
//!
//! There may be many callers. When there are [`MAX_CALLERS`], the table forgets those whose buckets are full again,
//! because they are like new callers. It never forgets a caller that has used something: otherwise an attacker could
//! regain a quota with a flood of new callers. New callers beyond the maximum share one entry, so a flood uses up that
//! entry only. Principals and addresses have separate maxima, so a client with many addresses takes nothing from a
//! principal.
//!
//! This module decides and counts, but writes nothing: it passes the buckets that must be in the file before a call
//! runs to [`WriteAheadLog`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::gcra::{QuotaBucket, Rate, StoredBucket};
use super::quota_error::{QuotaError, QuotaLimit};
use super::{QuotaCaller, RoleQuota};
use crate::config::{QuotaConfig, QuotaKind};

/// Maximum number of entries for each kind of caller. A caller has one entry for each role that it uses.
pub(super) const MAX_CALLERS: usize = 10_000;

/// Minimum time between two scans for entries to forget, in nanoseconds. Otherwise each new caller of a flood would
/// scan all entries.
const SWEEP: u64 = 1_000_000_000;

/// The file gets a TAT that is later than needed by this fraction of a period, so that not every call causes a write.
const WRITE_AHEAD_FRACTION: u64 = 16;

/// Microseconds in a second: processor time is counted in microseconds.
const MICROS: u64 = 1_000_000;

/// The key of an entry: one caller with one role.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RoleUsageKey {
    pub(super) caller: QuotaCaller,
    pub(super) role: Arc<str>,
}

/// The key of a bucket: one kind of quota in an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct BucketKey {
    pub(super) entry: RoleUsageKey,
    pub(super) kind: QuotaKind,
}

/// Receives the buckets that must be in the file. Returns the number of the write that will contain the bucket.
pub(super) trait WriteAheadLog {
    fn put(&self, key: BucketKey, stored: StoredBucket) -> u64;
}

/// A call that was counted.
#[derive(Debug)]
pub(super) struct CountedCall {
    pub(super) key: RoleUsageKey,
    pub(super) quota: RoleQuota,
    /// The number of the write that must be finished before the call runs.
    pub(super) write: u64,
}

#[derive(Debug, Default)]
pub(super) struct UsageTable {
    principals: CallerEntries,
    others: CallerEntries,
}

#[derive(Debug, Default)]
struct CallerEntries {
    entries: HashMap<RoleUsageKey, RoleUsage>,
    swept: u64,
}

/// What one caller has used with one role.
#[derive(Debug, Clone, Default)]
struct RoleUsage {
    calls_per_minute: WrittenBucket,
    calls_per_day: WrittenBucket,
    fuel_per_hour: WrittenBucket,
    cpu_per_hour: WrittenBucket,
    sampling_tokens_per_day: WrittenBucket,
    running: u32,
}

/// A bucket, and its TAT in the file. Once the write is finished, the latter is never earlier than the former.
#[derive(Debug, Clone, Copy, Default)]
struct WrittenBucket {
    bucket: QuotaBucket,
    /// The configured number of the quota when a call was last admitted or rejected; zero before the first call.
    value: u64,
    written: u64,
    write: u64,
}

/// The rate of one kind of quota.
fn rate(kind: QuotaKind, value: u64) -> Rate {
    let period = period(kind);
    match kind {
        // Calls are whole numbers, so the period is rounded up to a multiple of their number: then exactly that many
        // fit.
        QuotaKind::CallsPerMinute | QuotaKind::CallsPerDay => {
            Rate::new(value, period.next_multiple_of(value.max(1)))
        }
        QuotaKind::CpuPerHour => Rate::new(value.saturating_mul(MICROS), period),
        QuotaKind::FuelPerHour | QuotaKind::SamplingTokensPerDay => Rate::new(value, period),
    }
}

fn period(kind: QuotaKind) -> u64 {
    u64::try_from(kind.period().as_nanos()).unwrap_or(u64::MAX)
}

impl WrittenBucket {
    /// Returns the bucket for this configured number and the current time. If the clock was set back, no TAT stays far
    /// in the future, neither here nor in the file.
    fn at(&mut self, value: u64, rate: Rate, now: u64) -> QuotaBucket {
        if self.value != value {
            if self.value != 0 {
                self.bucket.rescale((self.value, value), rate, now);
            }
            (self.value, self.written) = (value, 0);
        }
        if self.bucket.bound(rate, now) {
            self.written = 0;
        }
        self.bucket
    }

    /// Returns the configured number that a running call is charged by: that of the last call that was admitted or
    /// rejected. With the call's own number, a changed configuration would be undone.
    fn present_value(&self, own: u64) -> u64 {
        if self.value == 0 { own } else { self.value }
    }

    /// Makes sure that the file has at least `tat`. If it has not, a later TAT is written, so that the next calls need
    /// no write.
    fn write_ahead(
        &mut self,
        tat: u64,
        (entry, kind): (&RoleUsageKey, QuotaKind),
        ahead: &impl WriteAheadLog,
    ) {
        if tat > self.written {
            self.written = tat.saturating_add(period(kind) / WRITE_AHEAD_FRACTION);
            let stored = StoredBucket { tat: self.written, value: self.value };
            self.write = ahead.put(BucketKey { entry: entry.clone(), kind }, stored);
        }
    }

    /// Takes `amount`. Returns the number of the write that contains it.
    fn take(
        &mut self,
        amount: u64,
        (kind, value): (QuotaKind, u64),
        key: &RoleUsageKey,
        now: u64,
        ahead: &impl WriteAheadLog,
    ) -> u64 {
        let rate = rate(kind, value);
        self.at(value, rate, now);
        self.bucket.take(amount, rate, now);
        self.write_ahead(self.bucket.tat(rate, now), (key, kind), ahead);
        self.write
    }
}

impl RoleUsage {
    fn bucket(&mut self, kind: QuotaKind) -> &mut WrittenBucket {
        match kind {
            QuotaKind::CallsPerMinute => &mut self.calls_per_minute,
            QuotaKind::CallsPerDay => &mut self.calls_per_day,
            QuotaKind::FuelPerHour => &mut self.fuel_per_hour,
            QuotaKind::CpuPerHour => &mut self.cpu_per_hour,
            QuotaKind::SamplingTokensPerDay => &mut self.sampling_tokens_per_day,
        }
    }

    fn is_unused(&mut self, now: u64) -> bool {
        self.running == 0 && QuotaKind::ALL.iter().all(|kind| self.bucket(*kind).bucket.is_whole(now))
    }

    /// Returns the limit that stops a call, its configured number, and how long it does so.
    fn reached_limit(&mut self, quota: &QuotaConfig, now: u64) -> Option<(QuotaLimit, u64, u64)> {
        for (kind, value) in quota.rates() {
            let rate = rate(kind, value);
            let bucket = self.bucket(kind).at(value, rate, now);
            let wait = match kind {
                QuotaKind::CallsPerMinute | QuotaKind::CallsPerDay => bucket.wait_for(1, rate, now),
                // What the call will use is unknown, so it may begin while anything is left.
                QuotaKind::FuelPerHour | QuotaKind::CpuPerHour => bucket.wait_for_any(rate, now),
                // A call that sends no request to a model needs no tokens.
                QuotaKind::SamplingTokensPerDay => None,
            };
            if let Some(wait) = wait {
                return Some((QuotaLimit::Rate(kind), value, wait));
            }
        }
        let max = quota.concurrent().filter(|max| self.running >= *max)?;
        Some((QuotaLimit::Concurrent, u64::from(max), 0))
    }

    /// Counts a call that no limit stops. Returns the number of the last write that must be finished before the call
    /// runs.
    fn count_call(
        &mut self,
        quota: &QuotaConfig,
        key: &RoleUsageKey,
        now: u64,
        ahead: &impl WriteAheadLog,
    ) -> u64 {
        self.running = self.running.saturating_add(1);
        let mut last = 0;
        for (kind, value) in quota.rates() {
            let bucket = self.bucket(kind);
            let write = match kind {
                QuotaKind::CallsPerMinute | QuotaKind::CallsPerDay => {
                    bucket.take(1, (kind, value), key, now, ahead)
                }
                // Taking zero still writes ahead, so that the file has some of the call's use before the call runs.
                QuotaKind::FuelPerHour | QuotaKind::CpuPerHour => {
                    bucket.take(0, (kind, value), key, now, ahead)
                }
                QuotaKind::SamplingTokensPerDay => 0,
            };
            last = last.max(write);
        }
        last
    }
}

impl CallerEntries {
    /// Returns the key under which a caller is counted: its own, or the one that new callers share.
    fn key_of(&mut self, key: RoleUsageKey, now: u64) -> RoleUsageKey {
        if self.entries.contains_key(&key) {
            return key;
        }
        if self.entries.len() >= MAX_CALLERS && now.abs_diff(self.swept) >= SWEEP {
            self.swept = now;
            self.entries.retain(|_, entry| !entry.is_unused(now));
        }
        if self.entries.len() < MAX_CALLERS {
            return key;
        }
        RoleUsageKey { caller: key.caller.shared(), ..key }
    }
}

impl UsageTable {
    fn entries(&mut self, caller: QuotaCaller) -> &mut CallerEntries {
        if caller.is_authenticated() { &mut self.principals } else { &mut self.others }
    }

    /// Counts a call against the first of these roles that has enough left.
    pub(super) fn admit(
        &mut self,
        caller: QuotaCaller,
        roles: &[RoleQuota],
        now: u64,
        ahead: &impl WriteAheadLog,
    ) -> Result<Option<CountedCall>, QuotaError> {
        let mut soonest: Option<QuotaError> = None;
        for quota in roles {
            let entries = self.entries(caller);
            let key = entries.key_of(RoleUsageKey { caller, role: Arc::clone(&quota.role) }, now);
            let entry = entries.entries.entry(key.clone()).or_default();
            let Some((limit, value, wait)) = entry.reached_limit(&quota.quota, now) else {
                let write = entry.count_call(&quota.quota, &key, now, ahead);
                return Ok(Some(CountedCall { key, quota: quota.clone(), write }));
            };
            let over =
                QuotaError { limit, value, role: Arc::clone(&quota.role), wait: Duration::from_nanos(wait) };
            if soonest.as_ref().is_none_or(|soonest| over.wait < soonest.wait) {
                soonest = Some(over);
            }
        }
        soonest.map_or(Ok(None), Err)
    }

    /// Records that a call has ended.
    pub(super) fn end(&mut self, key: &RoleUsageKey) {
        if let Some(entry) = self.entries(key.caller).entries.get_mut(key) {
            entry.running = entry.running.saturating_sub(1);
        }
    }

    /// Takes `amount`, even if less is left, if the role limits this kind.
    pub(super) fn take(
        &mut self,
        (key, quota): (&RoleUsageKey, &QuotaConfig),
        (kind, amount): (QuotaKind, u64),
        now: u64,
        ahead: &impl WriteAheadLog,
    ) {
        let Some(value) = quota.rate(kind).filter(|_| amount > 0) else { return };
        let entry = self.entries(key.caller).entries.entry(key.clone()).or_default();
        let bucket = entry.bucket(kind);
        let value = bucket.present_value(value);
        bucket.take(amount, (kind, value), key, now, ahead);
    }

    /// Takes `amount` if enough is left. Returns the number of the write that must be finished before it is used.
    pub(super) fn reserve(
        &mut self,
        (key, quota): (&RoleUsageKey, &RoleQuota),
        (kind, amount): (QuotaKind, u64),
        now: u64,
        ahead: &impl WriteAheadLog,
    ) -> Result<u64, QuotaError> {
        let Some(value) = quota.quota.rate(kind) else { return Ok(0) };
        let entry = self.entries(key.caller).entries.entry(key.clone()).or_default();
        let bucket = entry.bucket(kind);
        let value = bucket.present_value(value);
        let rate = rate(kind, value);
        match bucket.at(value, rate, now).wait_for(amount, rate, now) {
            None => Ok(bucket.take(amount, (kind, value), key, now, ahead)),
            Some(wait) => Err(QuotaError {
                limit: if amount > value { QuotaLimit::Whole(kind) } else { QuotaLimit::Rate(kind) },
                value,
                role: Arc::clone(&quota.role),
                wait: Duration::from_nanos(wait),
            }),
        }
    }

    /// Returns what was reserved and not used.
    pub(super) fn refund(
        &mut self,
        (key, quota): (&RoleUsageKey, &QuotaConfig),
        (kind, amount): (QuotaKind, u64),
        since_and_now: (u64, u64),
    ) {
        let Some(value) = quota.rate(kind) else { return };
        if let Some(entry) = self.entries(key.caller).entries.get_mut(key) {
            let bucket = entry.bucket(kind);
            let rate = rate(kind, bucket.present_value(value));
            bucket.bucket.refund(amount, rate, since_and_now);
        }
    }

    /// Restores a bucket from the file: everything up to its TAT counts as used.
    pub(super) fn restore(&mut self, key: BucketKey, StoredBucket { tat, value }: StoredBucket) {
        let entry = self.entries(key.entry.caller).entries.entry(key.entry).or_default();
        *entry.bucket(key.kind) =
            WrittenBucket { bucket: QuotaBucket::new(tat), value, written: tat, write: 0 };
    }

    #[cfg(test)]
    pub(super) fn callers(&self) -> usize {
        self.principals.entries.len() + self.others.entries.len()
    }
}
