//! Traces: spans of requests and of what they bring about, sent to a collector by OTLP.
//!
//! Most requests are not sampled, so their cost decides: one look at the tracer, and at most one at a token bucket. A
//! request that is sampled has a [`Span`], which is written when it is dropped, so a call that is cancelled in the
//! middle has its span too. A span goes into a bounded queue and never waits: what the queue cannot hold is dropped
//! and counted. One task, which `commands` owns and awaits, sends the queue to the collector.
//!
//! The queue and the exporter are ours and not those of the OpenTelemetry SDK, for the reasons in
//! `docs/decisions/0031-traces.md`. No span has arguments, results, tokens, or text of a guest.
//!
//! From the bottom: `trace_context` is W3C Trace Context, `span_data` one ended span, `queue` the way to the exporter, `span`
//! one span while it runs, `sampler` and `tracer` begin traces; `otlp` is the wire format, `http_sender` one request to
//! the collector, `exporter` the task.

mod exporter;
mod http_sender;
mod otlp;
mod queue;
mod sampler;
mod span;
mod span_data;
mod trace_context;
mod tracer;

pub use exporter::TraceExporter;
pub use http_sender::{InvalidHeader, OtlpTarget};
pub use queue::{SpanCounts, SpanReceiver};
pub use span::{Span, SpanScope};
pub use span_data::{SpanKind, Value};
pub use trace_context::TraceContext;
pub use tracer::Tracer;
