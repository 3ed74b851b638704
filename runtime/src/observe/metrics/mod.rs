//! Metrics: counters and histograms of calls, and what Prometheus gets of them.
//!
//! Recording is a few additions to atomics: no lock, no allocation, no text. What a recording needs is found before: a
//! plugin, a tool or a prompt has a handle with its series. The series are made when the plugin is loaded or its items
//! are listed, and end with the last handle, so clients cannot make series, however many names they invent. Labels are
//! names from the catalog and literals of this program; no principal, argument, URI or text of a guest is one.
//!
//! What its owner knows anyway, such as the running calls, is not counted again: it is read when somebody scrapes, by a
//! function that the owner [registers](Metrics::register). Without `[telemetry]` the handles are empty and record
//! nothing.
//!
//! Names follow the OpenTelemetry conventions for MCP in the form that Prometheus gives them; [`families`] has the
//! table. From the bottom: `families` and `labels`; `text` writes samples; `histogram`, `name_table` and `operation`
//! are series; `plugin`, `process` and `registry` join them.

pub mod families;
mod histogram;
mod labels;
mod name_table;
mod operation;
mod plugin;
mod process;
mod registry;
mod text;

pub use labels::{AuthOutcome, CallEnd, OperationEnd, Rejection, Reload};
pub use operation::{OperationMetrics, OperationSlot, OperationTimer};
pub use plugin::PluginMetrics;
pub use registry::Metrics;
pub use text::{Samples, Value};
