//! Metrics: counters, gauges and histograms of atomics, and how a scraper reads them.
//!
//! A metrics library brings a registry, which looks up the labels of each call in a hash table behind a lock. Here each
//! counted object owns its atomics, so that counting is one addition. Only a scrape collects them, as
//! [`MetricFamily`]s. One function writes these in the text format of Prometheus; another exporter could read the same
//! families.
//!
//! Nothing here knows what is counted.

mod counts_by_name;
mod histogram;
mod metric_family;
mod operation_histograms;
mod process_metrics;
mod prometheus_text;
mod sessions;

pub use counts_by_name::CountsByName;
pub use histogram::{Histogram, HistogramSnapshot};
pub use metric_family::{Labels, MetricFamily, MetricKind, MetricValue, Sample};
pub use operation_histograms::{ErrorType, HistogramsByName, ItemHistograms, OperationHistograms};
pub use process_metrics::process_families;
pub use prometheus_text::prometheus_text;
pub use sessions::{SessionMetrics, SessionTimer};
