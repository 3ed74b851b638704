//! Traces: spans of requests and of the work that they cause, sent to a collector by OTLP.
//!
//! Most requests are not sampled, so an unsampled request must be cheap: it costs one look at the tracer, and at most
//! one at a token bucket. A sampled request has a [`Span`], which is queued when it is dropped, so a call that is
//! cancelled has its span too. The queue is bounded and adding a span never waits: a span that does not fit is dropped
//! and counted. One task, which `commands` owns and awaits, sends the queued spans to the collector.
//!
//! The queue and the exporter are our own and not those of the OpenTelemetry SDK, for the reasons in
//! `docs/decisions/0031-traces.md`. No span contains arguments, results, tokens, or text of a guest.
//!
//! The modules, lowest first: `trace_context` is W3C Trace Context, `span_data` one ended span, `queue` the queue from
//! spans to the exporter, `span` one running span, `sampler` decides how many traces are recorded, `tracer` begins
//! them; `otlp` is the wire format, `http_sender` one request to the collector, `exporter` the task.

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
