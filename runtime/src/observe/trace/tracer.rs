//! Begins traces: decides which requests are recorded, and sets the parents of their spans.

use std::sync::Arc;
use std::time::Instant;

use super::queue::{SpanQueue, SpanReceiver, queue};
use super::sampler::Sampler;
use super::span::{Span, SpanStart};
use super::span_data::{ParentSpan, SpanKind};
use super::trace_context::{TraceContext, TraceId};

/// Begins the traces of this program. By default it records nothing. Clones share one rate.
#[derive(Debug, Clone, Default)]
pub struct Tracer(Option<Arc<EnabledTracer>>);

#[derive(Debug)]
struct EnabledTracer {
    sampler: Sampler,
    queue: Arc<SpanQueue>,
}

impl Tracer {
    /// Makes a tracer that records up to `traces_per_second`, and the receiving end of the queue into which its spans
    /// go.
    #[must_use]
    pub fn new(traces_per_second: u64) -> (Self, SpanReceiver) {
        let (queue, receiver) = queue();
        let sampler = Sampler::new(traces_per_second, Instant::now());
        (Self(Some(Arc::new(EnabledTracer { sampler, queue: Arc::new(queue) }))), receiver)
    }

    /// Whether any request is recorded.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Number of traces a second that a caller is sure to get although other callers begin too many.
    pub(crate) fn caller_share(&self) -> u64 {
        self.0.as_ref().map_or(1, |tracer| tracer.sampler.caller_share())
    }

    /// Begins the span of a request with this parent. Returns `None` if the request is not recorded: its parent is not
    /// recorded, or the rate is exceeded. `has_share` takes a trace from the share of the request's caller; it is
    /// called only when many traces begin.
    #[must_use]
    pub fn begin(
        &self,
        name: &str,
        parent: Option<&TraceContext>,
        has_share: impl FnOnce() -> bool,
    ) -> Option<Span> {
        let EnabledTracer { sampler, queue } = self.0.as_deref()?;
        if parent.is_some_and(|parent| !parent.is_sampled) || !sampler.admit(Instant::now(), has_share) {
            return None;
        }
        Span::begin(SpanStart {
            queue: Arc::clone(queue),
            trace_id: parent.map_or_else(TraceId::random, |parent| Some(parent.trace_id))?,
            state: parent.and_then(|parent| parent.state.clone()),
            parent: parent.map(|parent| ParentSpan { id: parent.span_id, is_remote: true }),
            name: name.to_owned().into(),
            kind: SpanKind::Server,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::QUEUED_SPANS;
    use super::super::span_data::Value;
    use super::*;

    const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_request_is_recorded_as_its_parent_says_and_within_the_rate() {
        let (tracer, _spans) = Tracer::new(2);
        let sampled = TraceContext::parse(SAMPLED, None).unwrap();
        let unsampled = TraceContext::parse(&SAMPLED.replace("-01", "-00"), None).unwrap();
        assert!(tracer.begin("a", Some(&unsampled), || true).is_none());
        assert!(
            tracer.begin("a", Some(&sampled), || true).is_some()
                && tracer.begin("a", None, || true).is_some()
        );
        assert!(tracer.begin("a", Some(&sampled), || true).is_none(), "the rate holds for everybody");
        assert!(Tracer::default().begin("a", Some(&sampled), || true).is_none());
    }

    #[test]
    fn spans_of_one_trace_name_each_other() {
        let (tracer, mut spans) = Tracer::new(2);
        let parent = TraceContext::parse(SAMPLED, Some("a=1")).unwrap();
        let mut span = tracer.begin("outer", Some(&parent), || true).unwrap();
        let inner = span.scope().begin("inner", SpanKind::Client).unwrap();
        let sent = inner.scope().traceparent();
        assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && sent.ends_with("-01"));
        assert_eq!(inner.scope().tracestate(), Some("a=1"));
        drop(inner);
        span.scope().begin("never", SpanKind::Client).unwrap().discard();
        span.set("a", 1_u64);
        span.set("a", 2_u64);
        span.fail("tool_error");
        drop(span);
        let mut batch = Vec::new();
        spans.take_waiting(&mut batch, 9);
        let [inner, outer] = &batch[..] else { panic!("{batch:?}") };
        assert_eq!(inner.parent, Some(ParentSpan { id: outer.span_id, is_remote: false }));
        assert_eq!(outer.parent, Some(ParentSpan { id: parent.span_id, is_remote: true }));
        assert_eq!((inner.trace_id, outer.trace_id), (parent.trace_id, parent.trace_id));
        assert_eq!(outer.attributes, [("a", Value::Int(2)), ("error.type", Value::from("tool_error"))]);
        assert!(outer.has_failed && outer.ended_unix_nanos >= outer.begun_unix_nanos);
    }

    #[test]
    fn what_the_queue_cannot_hold_is_dropped_and_counted() {
        let (tracer, spans) = Tracer::new(10_000);
        for _ in 0..QUEUED_SPANS + 5 {
            drop(tracer.begin("a", None, || true).unwrap());
        }
        assert_eq!((spans.waiting(), spans.counts().dropped()), (QUEUED_SPANS, 5));
    }
}
