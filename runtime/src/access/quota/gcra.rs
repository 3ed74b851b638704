//! One bucket of a quota: GCRA, the generic cell rate algorithm.
//!
//! A bucket is one point in time, which GCRA calls the theoretical arrival time (TAT): when the bucket will be full
//! again if nothing more is taken. Taking something moves the TAT into the future, and the clock catches up with it. So
//! a bucket refills evenly without a timer, takes 8 bytes in a file, and has refilled by the right amount after a
//! restart. All times are nanoseconds since 1970, and the current time is an argument.

/// The size of a bucket, and how long it takes to refill completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    amount: u64,
    period: u64,
}

impl Rate {
    /// `amount` in a `period`, in nanoseconds.
    pub(super) fn new(amount: u64, period: u64) -> Self {
        Self { amount: amount.max(1), period }
    }

    /// How long the bucket takes to refill by `amount`. The result is rounded up, so that rounding never grants more.
    fn refill_time(self, amount: u64) -> u64 {
        let refill_time = (u128::from(amount) * u128::from(self.period)).div_ceil(u128::from(self.amount));
        u64::try_from(refill_time).unwrap_or(u64::MAX)
    }
}

/// A bucket as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredBucket {
    /// When the bucket is full again.
    pub(super) tat: u64,
    /// The configured number of the quota from which the TAT was computed.
    pub(super) value: u64,
}

/// A bucket. The default is a full one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct QuotaBucket {
    /// When the bucket is full again.
    tat: u64,
}

impl QuotaBucket {
    pub(super) fn new(tat: u64) -> Self {
        Self { tat }
    }

    /// Returns when the bucket is full again, which is `now` or later. A call may take more than is left, so a bucket
    /// may be in debt, by at most one period.
    pub(super) fn tat(self, rate: Rate, now: u64) -> u64 {
        self.tat.clamp(now, latest_tat(rate, now))
    }

    /// Limits the bucket's debt to one period. More can only come from a clock that was ahead and was set back. Returns
    /// whether the bucket had more debt.
    pub(super) fn bound(&mut self, rate: Rate, now: u64) -> bool {
        let is_beyond = self.tat > latest_tat(rate, now);
        self.tat = self.tat.min(latest_tat(rate, now));
        is_beyond
    }

    /// Returns how long to wait until `amount` can be taken; `None` if it can be taken now.
    pub(super) fn wait_for(self, amount: u64, rate: Rate, now: u64) -> Option<u64> {
        let tat = self.tat(rate, now).saturating_add(rate.refill_time(amount));
        tat.checked_sub(now.saturating_add(rate.period)).filter(|wait| *wait > 0)
    }

    /// Returns how long to wait until the bucket is not empty; `None` if it is not empty now.
    pub(super) fn wait_for_any(self, rate: Rate, now: u64) -> Option<u64> {
        let over = self.tat(rate, now).checked_sub(now.saturating_add(rate.period));
        over.map(|over| over.saturating_add(1))
    }

    /// Takes `amount`, even if less is left.
    pub(super) fn take(&mut self, amount: u64, rate: Rate, now: u64) {
        self.tat = self.tat(rate, now).saturating_add(rate.refill_time(amount));
        self.bound(rate, now);
    }

    /// Returns an `amount` that was taken at `since` and not used. What has refilled since then is not returned twice.
    pub(super) fn refund(&mut self, amount: u64, rate: Rate, (since, now): (u64, u64)) {
        let filled = now.saturating_sub(since);
        self.tat = self.tat.saturating_sub(rate.refill_time(amount).saturating_sub(filled));
    }

    /// Changes the configured number of the quota, whose new rate is `rate`. What was used stays used, so a larger
    /// number leaves more. A smaller number can empty the bucket but makes no debt, because the use was allowed.
    pub(super) fn rescale(&mut self, (old, new): (u64, u64), rate: Rate, now: u64) {
        let before = self.tat.saturating_sub(now);
        let missing = (u128::from(before) * u128::from(old)).div_ceil(u128::from(new.max(1)));
        let missing = u64::try_from(missing).unwrap_or(u64::MAX).min(before.max(rate.period));
        self.tat = now.saturating_add(missing);
    }

    /// Whether the bucket is full, so that a new bucket would be the same.
    pub(super) fn is_whole(self, now: u64) -> bool {
        self.tat <= now
    }
}

/// The latest TAT that a bucket may have: one period of debt.
fn latest_tat(rate: Rate, now: u64) -> u64 {
    now.saturating_add(rate.period.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000_000_000;
    const SECOND: u64 = 1_000_000_000;

    fn taken(bucket: &mut QuotaBucket, rate: Rate, now: u64) -> bool {
        bucket.bound(rate, now);
        let is_free = bucket.wait_for(1, rate, now).is_none();
        if is_free {
            bucket.take(1, rate, now);
        }
        is_free
    }

    #[test]
    fn a_bucket_gives_its_amount_at_once_and_then_evenly() {
        let (rate, mut bucket) = (Rate::new(10, 60 * SECOND), QuotaBucket::default());
        assert!((0..10).all(|_| taken(&mut bucket, rate, START)));
        assert_eq!(bucket.wait_for(1, rate, START), Some(6 * SECOND));
        assert!(!taken(&mut bucket, rate, START + 6 * SECOND - 1));
        assert!(taken(&mut bucket, rate, START + 6 * SECOND));
        assert!(!taken(&mut bucket, rate, START + 6 * SECOND));
        assert!(!bucket.is_whole(START + 60 * SECOND) && bucket.is_whole(START + 66 * SECOND));
    }

    #[test]
    fn amounts_that_divide_no_period_never_give_more() {
        for amount in [1, 7, 13, 999_983, 1_000_000_000_000_000] {
            let (rate, mut bucket) = (Rate::new(amount, 3_600 * SECOND), QuotaBucket::default());
            let step = amount.div_ceil(1_000);
            let mut sum = 0;
            while bucket.wait_for(step, rate, START).is_none() {
                bucket.take(step, rate, START);
                sum += step;
            }
            assert!(sum <= amount && amount - sum <= step, "{amount}: {sum}");
        }
        let rate = Rate::new(5, SECOND);
        assert!(QuotaBucket::default().wait_for(6, rate, START).is_some(), "more than there ever is");
        assert!(QuotaBucket::default().wait_for(u64::MAX, rate, START).is_some());
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing_away_and_locks_nobody_out_for_long() {
        let (rate, mut bucket) = (Rate::new(4, 60 * SECOND), QuotaBucket::default());
        assert!((0..4).all(|_| taken(&mut bucket, rate, START)));
        for back in [1, SECOND, 60 * SECOND, 86_400 * SECOND] {
            assert!(!taken(&mut bucket, rate, START - back), "{back}");
        }
        let year = 365 * 86_400 * SECOND;
        assert!(!taken(&mut bucket, rate, START - year));
        let wait = bucket.wait_for(1, rate, START - year).unwrap();
        assert!(wait <= 75 * SECOND, "{wait}");
        assert!(taken(&mut bucket, rate, START - year + wait));
    }

    #[test]
    fn a_changed_number_keeps_what_was_used() {
        let left = |old: u64, used: u64, new: u64| {
            let (before, rate) = (Rate::new(old, 60 * SECOND), Rate::new(new, 60 * SECOND));
            let mut bucket = QuotaBucket::default();
            bucket.take(used, before, START);
            bucket.rescale((old, new), rate, START);
            (0..).take_while(|_| taken(&mut bucket, rate, START)).count()
        };
        assert_eq!(
            [left(3, 3, 5), left(3, 1, 5), left(5, 2, 3), left(5, 5, 3), left(4, 0, 2)],
            [2, 4, 1, 0, 2]
        );
    }

    #[test]
    fn a_debt_is_bounded_by_a_period() {
        let (rate, mut bucket) = (Rate::new(100, 60 * SECOND), QuotaBucket::default());
        assert_eq!(bucket.wait_for_any(rate, START), None);
        bucket.take(99, rate, START);
        assert_eq!(bucket.wait_for_any(rate, START), None, "something is left");
        bucket.take(31, rate, START);
        assert_eq!(bucket.wait_for_any(rate, START), Some(18 * SECOND + 1));
        bucket.take(1_000_000, rate, START);
        assert_eq!(bucket.wait_for_any(rate, START), Some(60 * SECOND + 1));
        bucket.take(u64::MAX, rate, START);
        assert_eq!(bucket.wait_for_any(rate, START + 60 * SECOND + 1), None);
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let (rate, mut bucket) = (Rate::new(100, 60 * SECOND), QuotaBucket::default());
        bucket.take(100, rate, START);
        bucket.refund(40, rate, (START, START));
        assert!(bucket.wait_for(41, rate, START).is_some() && bucket.wait_for(40, rate, START).is_none());
        bucket.refund(60, rate, (START, START));
        assert!(bucket.wait_for(101, rate, START).is_some(), "it holds no more than before");
        let later = START + 30 * SECOND;
        bucket.take(100, rate, START);
        bucket.take(50, rate, later);
        bucket.refund(100, rate, (START, later));
        assert!(bucket.wait_for(51, rate, later).is_some(), "half of it had filled again");
    }

    #[test]
    fn a_changed_number_applies_to_what_was_taken() {
        let mut bucket = QuotaBucket::default();
        bucket.take(5, Rate::new(10, 60 * SECOND), START);
        let half = Rate::new(4, 60 * SECOND);
        assert!(bucket.wait_for(2, half, START).is_none() && bucket.wait_for(3, half, START).is_some());
    }
}
