//! A histogram of durations, in the buckets of the OpenTelemetry convention for MCP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in milliseconds.
const BOUNDS_MS: [u64; 14] =
    [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];

/// Counts durations.
#[derive(Debug, Default)]
pub struct Histogram {
    /// One count for each bucket; the last bucket counts durations above all bounds.
    counts: [AtomicU64; BOUNDS_MS.len() + 1],
    nanos: AtomicU64,
}

/// A histogram at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistogramSnapshot {
    /// The bounds in seconds, each with the number of durations up to that bound.
    pub buckets: Vec<(f64, u64)>,
    /// Number of all durations.
    pub count: u64,
    /// The sum of all durations in seconds.
    pub sum: f64,
}

impl Histogram {
    /// Counts a duration.
    pub fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MS.iter().position(|bound| nanos <= bound * 1_000_000);
        let bucket = bucket.unwrap_or(BOUNDS_MS.len());
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The histogram now. `count` is the sum of the buckets that were read, so that it agrees with them.
    #[must_use]
    pub fn read(&self) -> HistogramSnapshot {
        let mut count = 0;
        let mut up_to = |bucket: &AtomicU64| {
            count += bucket.load(Ordering::Relaxed);
            count
        };
        let sums: Vec<u64> = self.counts.iter().map(&mut up_to).collect();
        let bounds = BOUNDS_MS.iter().map(|bound| Duration::from_millis(*bound).as_secs_f64());
        let sum = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64();
        HistogramSnapshot { buckets: bounds.zip(sums).collect(), count, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_bucket_and_in_all_above() {
        let histogram = Histogram::default();
        for ms in [0, 10, 11, 300_000, 300_001] {
            histogram.record(Duration::from_millis(ms));
        }
        histogram.record(Duration::from_nanos(10_000_001));
        let HistogramSnapshot { buckets, count, sum } = histogram.read();
        assert_eq!(buckets.len(), 14);
        assert_eq!((buckets[0], buckets[1]), ((0.01, 2), (0.02, 4)));
        assert_eq!((buckets[12], buckets[13]), ((120.0, 4), (300.0, 5)));
        assert_eq!(count, 6);
        assert!((sum - 600.032_000_001).abs() < 1e-6, "{sum}");
        assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert_eq!(Histogram::default().read().count, 0);
    }
}
