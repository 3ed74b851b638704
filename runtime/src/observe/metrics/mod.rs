//! Metrics: counters, gauges and histograms of atomics, and how a scraper reads them.
//!
//! A library of metrics brings a registry, which looks up the labels of each call in a hash table behind a lock. Here
//! the counted thing owns its atomics, so counting is an addition, and only a scrape gathers them as
//! [`MetricFamily`]s. The text format of Prometheus is one function over these, and another exporter may read the same.
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
pub use operation_histograms::{ErrorType, ItemOperations, OperationTable, Operations};
pub use process_metrics::process_families;
pub use prometheus_text::prometheus_text;
pub use sessions::{SessionMetrics, SessionTimer};
