//! How many traces are recorded: a rate, however many requests there are and whatever their clients ask for.

use std::time::Instant;

use parking_lot::Mutex;

/// A token bucket that is full at the start and holds the traces of one second.
#[derive(Debug)]
pub(super) struct Sampler {
    per_second: f64,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Sampler {
    pub(super) fn new(per_second: u64, now: Instant) -> Self {
        // Far below where a whole number has no `f64` of its own: the configuration bounds the rate.
        let per_second = per_second as f64;
        Self { per_second, bucket: Mutex::new(Bucket { tokens: per_second, at: now }) }
    }

    /// Whether another trace may begin.
    pub(super) fn admit(&self, now: Instant) -> bool {
        let mut bucket = self.bucket.lock();
        let elapsed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.tokens = (bucket.tokens + elapsed * self.per_second).min(self.per_second);
        bucket.at = bucket.at.max(now);
        let is_admitted = bucket.tokens >= 1.0;
        if is_admitted {
            bucket.tokens -= 1.0;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ten_traces_begin_in_each_second_however_many_are_asked_for() {
        let start = Instant::now();
        let sampler = Sampler::new(10, start);
        let admitted = |from: u64, to: u64| {
            (from..to).filter(|ms| sampler.admit(start + Duration::from_millis(*ms))).count()
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
        assert_eq!((0..9).filter(|_| sampler.admit(later)).count(), 3);
    }
}
