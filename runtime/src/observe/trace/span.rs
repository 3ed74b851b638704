//! A running span, and its [`SpanScope`], in which child spans begin.
//!
//! The code that begins a span owns the [`Span`]: it sets the attributes, and ends the span by dropping it. Code that
//! runs inside the span gets its [`SpanScope`]: with it, lower layers begin child spans and add events without knowing
//! who began the span.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::queue::SpanQueue;
use super::span_data::{
    Attribute, MAX_EVENTS, MAX_LINKS, ParentSpan, SpanData, SpanEvent, SpanKind, Value, bounded,
};
use super::trace_context::{SpanId, TraceContext, TraceId};

/// A span that is recorded. It ends when it is dropped.
#[derive(Debug)]
pub struct Span {
    scope: SpanScope,
    parent: Option<ParentSpan>,
    name: Cow<'static, str>,
    kind: SpanKind,
    begun: Instant,
    begun_unix_nanos: u64,
    attributes: Vec<Attribute>,
    has_failed: bool,
    is_discarded: bool,
}

/// The scope of a span, for the code that runs inside the span. Clones belong to the same span.
#[derive(Debug, Clone)]
pub struct SpanScope(Arc<Scope>);

#[derive(Debug)]
struct Scope {
    queue: Arc<SpanQueue>,
    trace_id: TraceId,
    span_id: SpanId,
    state: Option<Arc<str>>,
    inside: Mutex<Inside>,
}

/// What code inside the span has added to it.
#[derive(Debug, Default)]
struct Inside {
    events: Vec<SpanEvent>,
    links: Vec<TraceContext>,
}

/// What a new span begins with.
pub(super) struct SpanStart {
    pub(super) queue: Arc<SpanQueue>,
    pub(super) trace_id: TraceId,
    pub(super) state: Option<Arc<str>>,
    pub(super) parent: Option<ParentSpan>,
    pub(super) name: Cow<'static, str>,
    pub(super) kind: SpanKind,
}

impl Span {
    /// Begins a span. Returns `None` when the system has no randomness for the span's id.
    pub(super) fn begin(start: SpanStart) -> Option<Self> {
        let SpanStart { queue, trace_id, state, parent, name, kind } = start;
        let scope = Scope { queue, trace_id, span_id: SpanId::random()?, state, inside: Mutex::default() };
        Some(Self {
            scope: SpanScope(Arc::new(scope)),
            parent,
            name: bounded(name),
            kind,
            begun: Instant::now(),
            begun_unix_nanos: unix_nanos(),
            attributes: Vec::with_capacity(10),
            has_failed: false,
            is_discarded: false,
        })
    }

    /// The span's scope, for code that runs inside the span.
    #[must_use]
    pub fn scope(&self) -> &SpanScope {
        &self.scope
    }

    /// Renames the span.
    pub fn rename(&mut self, name: String) {
        self.name = bounded(name.into());
    }

    /// Sets an attribute. A value that was set before is replaced.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        let value = value.into().bounded();
        match self.attributes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, former)) => *former = value,
            None => self.attributes.push((name, value)),
        }
    }

    /// Marks the span as failed; `error_type` becomes its attribute `error.type`.
    pub fn fail(&mut self, error_type: impl Into<Value>) {
        self.has_failed = true;
        self.set("error.type", error_type);
    }

    /// Marks the span as successful, although it was marked as failed.
    pub fn succeed(&mut self) {
        self.has_failed = false;
        self.attributes.retain(|(name, _)| *name != "error.type");
    }

    /// Drops the span without recording it.
    pub fn discard(mut self) {
        self.is_discarded = true;
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if self.is_discarded {
            return;
        }
        let Scope { queue, trace_id, span_id, state, inside } = &*self.scope.0;
        let Inside { events, links } = std::mem::take(&mut *inside.lock());
        // Measured with the monotonic clock, so that a span never ends before it begins.
        let elapsed = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        queue.push(Box::new(SpanData {
            trace_id: *trace_id,
            span_id: *span_id,
            state: state.clone(),
            parent: self.parent,
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            begun_unix_nanos: self.begun_unix_nanos,
            ended_unix_nanos: self.begun_unix_nanos.saturating_add(elapsed),
            attributes: std::mem::take(&mut self.attributes),
            events,
            links,
            has_failed: self.has_failed,
        }));
    }
}

impl SpanScope {
    /// Begins a child span. Returns `None` when the system has no randomness for its id.
    #[must_use]
    pub fn begin(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> Option<Span> {
        let Scope { queue, trace_id, span_id, state, .. } = &*self.0;
        Span::begin(SpanStart {
            queue: Arc::clone(queue),
            trace_id: *trace_id,
            state: state.clone(),
            parent: Some(ParentSpan { id: *span_id, is_remote: false }),
            name: name.into(),
            kind,
        })
    }

    /// Adds an event to the span, with at most one attribute.
    pub fn event(&self, name: &'static str, attribute: Option<(&'static str, Value)>) {
        let mut inside = self.0.inside.lock();
        if inside.events.len() < MAX_EVENTS {
            let attribute = attribute.map(|(key, value)| (key, value.bounded()));
            inside.events.push(SpanEvent { unix_nanos: unix_nanos(), name, attribute });
        }
    }

    /// Adds a link to a span of another program to the span.
    pub fn link(&self, context: &TraceContext) {
        let mut inside = self.0.inside.lock();
        if inside.links.len() < MAX_LINKS {
            inside.links.push(context.clone());
        }
    }

    /// The `traceparent` header of a request that is sent inside this span.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.0.trace_id, self.0.span_id)
    }

    /// The `tracestate` header that came with the trace.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.0.state.as_deref()
    }
}

fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
