//! Limits how many traces are recorded to a rate, regardless of how many requests come and of what their clients ask
//! for.
//!
//! One caller that floods the server with requests must not be the only one whose requests are recorded. So half of the
//! token bucket is reserved for callers that have begun few traces; each caller has a share of this half. The other
//! half goes to whichever request comes first. A caller that is alone can therefore use the whole rate.

use std::time::{Duration, Instant};

use crate::token_bucket::TokenBucket;

/// A token bucket that is full at the start and holds as many traces as may begin in one second.
#[derive(Debug)]
pub(super) struct Sampler {
    per_second: u64,
    bucket: TokenBucket,
}

impl Sampler {
    pub(super) fn new(per_second: u64, now: Instant) -> Self {
        Self { per_second, bucket: TokenBucket::new(per_second, Duration::from_secs(1), now) }
    }

    /// Number of traces a second that one caller may begin from the reserved half.
    pub(super) fn caller_share(&self) -> u64 {
        (self.per_second / 4).max(1)
    }

    /// Whether another trace may begin. `has_share` takes a trace from the share of the caller; it is called only when
    /// the unreserved half is used up.
    pub(super) fn admit(&self, now: Instant, has_share: impl FnOnce() -> bool) -> bool {
        self.bucket.take_leaving(self.per_second / 2, 1, now) || (has_share() && self.bucket.take(1, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_traces_begin_in_each_second_however_many_are_asked_for() {
        let start = Instant::now();
        let sampler = Sampler::new(10, start);
        let admitted = |from: u64, to: u64| {
            (from..to).filter(|ms| sampler.admit(start + Duration::from_millis(*ms), || true)).count()
        };
        assert_eq!(admitted(0, 1), 1);
        assert!((18..=19).contains(&admitted(1, 1_000)), "those of the start, and those of one second");
        assert!((9..=11).contains(&admitted(1_000, 2_000)));
        assert!((99..=101).contains(&admitted(2_000, 12_000)));
        assert_eq!(admitted(0, 1), 0, "an instant of the past brings nothing");
    }

    #[test]
    fn a_pause_saves_up_one_second_and_no_more() {
        let start = Instant::now();
        let sampler = Sampler::new(3, start);
        let later = start + Duration::from_secs(600);
        assert_eq!((0..9).filter(|_| sampler.admit(later, || true)).count(), 3);
    }

    #[test]
    fn a_caller_that_floods_has_the_whole_rate_but_what_others_need() {
        let start = Instant::now();
        let sampler = Sampler::new(10, start);
        let share = || TokenBucket::new(sampler.caller_share(), Duration::from_secs(1), start);
        let (of_flood, of_quiet) = (share(), share());
        let (mut flood, mut quiet) = (0, 0);
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            flood += usize::from(sampler.admit(now, || of_flood.take(1, now)));
            if ms % 1_000 == 999 {
                quiet += usize::from(sampler.admit(now, || of_quiet.take(1, now)));
            }
        }
        assert_eq!(quiet, 10, "every request of the quiet caller is recorded");
        assert!((90..=110).contains(&flood), "{flood}");
    }
}
