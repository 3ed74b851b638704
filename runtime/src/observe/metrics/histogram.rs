//! Histograms of whole numbers: nanoseconds, bytes, units of fuel. Recording a value is two additions.
//!
//! The sum is a whole number too, so that adding to it needs no loop. It wraps after 18 * 10^18, which Prometheus takes
//! for a restart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::text::{FamilyWriter, Value};

/// The upper bounds of the buckets, as a number and as text, and whether the values are nanoseconds.
#[derive(Debug)]
pub(super) struct Scale {
    bounds: &'static [(u64, &'static str)],
    is_time: bool,
}

/// The bounds that the OpenTelemetry conventions give for the duration of an MCP operation.
pub(super) static DURATION: Scale = Scale {
    bounds: &[
        (10_000_000, "0.01"),
        (20_000_000, "0.02"),
        (50_000_000, "0.05"),
        (100_000_000, "0.1"),
        (200_000_000, "0.2"),
        (500_000_000, "0.5"),
        (1_000_000_000, "1"),
        (2_000_000_000, "2"),
        (5_000_000_000, "5"),
        (10_000_000_000, "10"),
        (30_000_000_000, "30"),
        (60_000_000_000, "60"),
        (120_000_000_000, "120"),
        (300_000_000_000, "300"),
    ],
    is_time: true,
};

/// Processor time of a call: most take less than a millisecond.
pub(super) static CPU: Scale = Scale {
    bounds: &[
        (100_000, "0.0001"),
        (300_000, "0.0003"),
        (1_000_000, "0.001"),
        (3_000_000, "0.003"),
        (10_000_000, "0.01"),
        (30_000_000, "0.03"),
        (100_000_000, "0.1"),
        (300_000_000, "0.3"),
        (1_000_000_000, "1"),
        (10_000_000_000, "10"),
    ],
    is_time: true,
};

/// Fuel of a call, up to the largest limit.
pub(super) static FUEL: Scale = Scale {
    bounds: &[
        (10_000, "10000"),
        (100_000, "100000"),
        (1_000_000, "1e+06"),
        (10_000_000, "1e+07"),
        (100_000_000, "1e+08"),
        (1_000_000_000, "1e+09"),
        (10_000_000_000, "1e+10"),
        (100_000_000_000, "1e+11"),
        (1_000_000_000_000, "1e+12"),
    ],
    is_time: false,
};

/// Memory of an instance, from 1 MiB to the largest limit.
pub(super) static MEMORY: Scale = Scale {
    bounds: &[
        (1 << 20, "1048576"),
        (2 << 20, "2097152"),
        (4 << 20, "4194304"),
        (8 << 20, "8388608"),
        (16 << 20, "16777216"),
        (32 << 20, "33554432"),
        (64 << 20, "67108864"),
        (128 << 20, "134217728"),
        (256 << 20, "268435456"),
        (512 << 20, "536870912"),
        (1 << 30, "1073741824"),
    ],
    is_time: false,
};

/// A histogram.
#[derive(Debug)]
pub(super) struct Histogram {
    scale: &'static Scale,
    /// One for each bound, and one for values above all of them.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn new(scale: &'static Scale) -> Self {
        let counts = (0..=scale.bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { scale, counts, sum: AtomicU64::new(0) }
    }

    pub(super) fn record(&self, value: u64) {
        let bucket = self.scale.bounds.partition_point(|(bound, _)| *bound < value);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub(super) fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Writes all buckets, unless no value was recorded yet: most histograms of most plugins have none.
    pub(super) fn write(&self, to: &mut FamilyWriter<'_>, labels: &str) {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let total = counts.iter().copied().fold(0, u64::wrapping_add);
        if total == 0 {
            return;
        }
        let sum = self.sum.load(Ordering::Relaxed);
        let separator = if labels.is_empty() { "" } else { "," };
        let mut below = 0_u64;
        for ((_, bound), count) in self.scale.bounds.iter().zip(&counts) {
            below = below.wrapping_add(*count);
            to.suffixed_sample("_bucket", &[labels, separator, "le=\"", bound, "\""], Value::Number(below));
        }
        to.suffixed_sample("_bucket", &[labels, separator, "le=\"+Inf\""], Value::Number(total));
        let sum =
            if self.scale.is_time { Value::Time(Duration::from_nanos(sum)) } else { Value::Number(sum) };
        to.suffixed_sample("_sum", &[labels], sum);
        to.suffixed_sample("_count", &[labels], Value::Number(total));
    }
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::*;

    fn written(histogram: &Histogram, labels: &str) -> Vec<String> {
        let mut text = String::new();
        histogram.write(&mut FamilyWriter::new(&mut text, &families::CALL_CPU), labels);
        text.lines().filter(|line| !line.starts_with('#')).map(ToOwned::to_owned).collect()
    }

    #[test]
    fn a_value_counts_in_every_bucket_that_it_fits_into() {
        let histogram = Histogram::new(&CPU);
        assert!(written(&histogram, "plugin=\"p\"").is_empty(), "nothing was recorded");
        histogram.record_time(Duration::from_micros(100));
        histogram.record(100_001);
        histogram.record_time(Duration::from_secs(11));
        let lines = written(&histogram, "plugin=\"p\"");
        assert_eq!(lines.len(), CPU.bounds.len() + 3);
        assert_eq!(lines[0], "plugport_call_cpu_seconds_bucket{plugin=\"p\",le=\"0.0001\"} 1");
        assert_eq!(lines[1], "plugport_call_cpu_seconds_bucket{plugin=\"p\",le=\"0.0003\"} 2");
        assert_eq!(lines[9], "plugport_call_cpu_seconds_bucket{plugin=\"p\",le=\"10\"} 2");
        assert_eq!(lines[10], "plugport_call_cpu_seconds_bucket{plugin=\"p\",le=\"+Inf\"} 3");
        assert_eq!(lines[11], "plugport_call_cpu_seconds_sum{plugin=\"p\"} 11.000200001");
        assert_eq!(lines[12], "plugport_call_cpu_seconds_count{plugin=\"p\"} 3");
        assert_eq!(written(&histogram, "")[12], "plugport_call_cpu_seconds_count 3");
    }

    #[test]
    fn bounds_ascend_and_their_texts_are_their_values() {
        for scale in [&DURATION, &CPU, &FUEL, &MEMORY] {
            assert!(scale.bounds.is_sorted_by(|(one, _), (next, _)| one < next));
            for (bound, text) in scale.bounds {
                let unit = if scale.is_time { 1e9 } else { 1.0 };
                let value: f64 = text.parse().unwrap();
                assert!((value * unit - *bound as f64).abs() < 0.5, "{bound} is not {text}");
            }
        }
    }
}
