//! The span `sandbox PLUGIN` of one call: from when the plugin was called until the call's audit record is dropped.
//!
//! The record has it, because the record alone sees every end of a call. Its names are those of the catalog and of
//! limits; nothing that a guest said is in it.

use std::time::Duration;

use super::call_line::CallOutcome;
use crate::observe::trace::{Span, SpanKind, SpanScope};
use crate::plugin::guest_call::CallUsage;

/// The span of one call.
#[derive(Debug)]
pub(super) struct SandboxSpan(Span);

impl SandboxSpan {
    /// Begins the span inside the span of a request.
    pub(super) fn begin(request: Option<&SpanScope>, plugin: &str) -> Option<Self> {
        let mut span = request?.begin(format!("sandbox {plugin}"), SpanKind::Internal)?;
        span.set("plugport.plugin", plugin.to_owned());
        Some(Self(span))
    }

    pub(super) fn scope(&self) -> &SpanScope {
        self.0.scope()
    }

    /// The call got its permit after this time.
    pub(super) fn waited(&mut self, time: Duration) {
        self.0.set("plugport.queue.wait_ms", millis(time));
    }

    /// The largest linear memory of the call's store.
    pub(super) fn peak_memory(&mut self, bytes: usize) {
        self.0.set("plugport.memory.peak_bytes", bytes as u64);
    }

    /// Ends the span.
    pub(super) fn end(mut self, usage: CallUsage, is_reused: bool, outcome: &CallOutcome) {
        let span = &mut self.0;
        span.set("plugport.fuel", usage.fuel);
        span.set("plugport.cpu_ms", millis(usage.cpu));
        span.set("plugport.instance.reused", is_reused);
        span.set("plugport.outcome", outcome.name());
        if let CallOutcome::Limit { limit, .. } = outcome {
            span.set("plugport.limit", *limit);
        }
        if !matches!(outcome, CallOutcome::Ok) {
            span.fail(outcome.name());
        }
    }

    /// Drops the span unrecorded.
    pub(super) fn discard(self) {
        self.0.discard();
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
