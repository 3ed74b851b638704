//! The metrics of one moment, as plain values that an exporter writes in its own format.

use super::histogram::HistogramSnapshot;

/// Names and values of labels.
pub type Labels = Vec<(&'static str, String)>;

/// What the values of a family mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A sum that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// How many durations were at most as long as each of some bounds.
    Histogram,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// A whole number.
    Count(u64),
    /// Seconds, or another quantity with fractions.
    Number(f64),
    /// A histogram of durations.
    Histogram(HistogramSnapshot),
}

impl From<u64> for MetricValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for MetricValue {
    fn from(count: usize) -> Self {
        Self::Count(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

impl From<f64> for MetricValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// One series at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its labels.
    pub labels: Labels,
    /// Its value.
    pub value: MetricValue,
}

/// All series of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFamily {
    /// The name, with its unit; that of a counter ends in `_total`.
    pub name: &'static str,
    /// The help text, which says what the metric counts.
    pub help: &'static str,
    /// What its values mean.
    pub kind: MetricKind,
    /// Its series.
    pub samples: Vec<Sample>,
}

impl MetricFamily {
    /// A metric without series.
    #[must_use]
    pub fn new(kind: MetricKind, name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind, samples: Vec::new() }
    }

    /// A metric with one series without labels.
    #[must_use]
    pub fn single(
        kind: MetricKind,
        name: &'static str,
        help: &'static str,
        value: impl Into<MetricValue>,
    ) -> Self {
        let mut family = Self::new(kind, name, help);
        family.add([], value);
        family
    }

    /// Adds a series.
    pub fn add<const N: usize>(&mut self, labels: [(&'static str, &str); N], value: impl Into<MetricValue>) {
        let labels = labels.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        self.samples.push(Sample { labels, value: value.into() });
    }
}
