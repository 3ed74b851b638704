//! How long requests take, by method, tool or prompt, and how they ended.
//!
//! A request is timed from the creation of its handler to its response, which is the time that a client waits. The
//! response stream owns the timer, because only the stream sees every way in which a request ends: with a response,
//! with `input_required`, or because the client is gone. Each leg of a suspended call counts as a request. The handler
//! reports which item was called, because only the handler has found it in the catalog; so a name that a client made up
//! never becomes a label.
//!
//! Without metrics there is no timer and no counting.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call_task::HandlerOutcome;
use super::error::RpcError;
use super::method::Method;
use super::request_context::RequestContext;
use crate::catalog::{PublishedPrompt, PublishedTool, Snapshot};
use crate::observe::metrics::{
    ErrorType, HistogramsByName, Labels, MetricFamily, MetricKind, MetricValue, OperationHistograms, Sample,
    SessionMetrics,
};
use crate::plugin::Plugin;

/// Maximum number of tools, and of prompts, with histograms of their own. Requests for further items count for their
/// method only.
const MAX_ITEMS: usize = 10_000;

/// The requests and the sessions of one server.
#[derive(Debug)]
pub(super) struct OperationMetrics {
    methods: BTreeMap<&'static str, OperationHistograms>,
    tools: HistogramsByName,
    prompts: HistogramsByName,
    pub(super) sessions: Arc<SessionMetrics>,
}

/// Times one request. If it is dropped without an outcome, the request counts as cancelled.
#[derive(Debug)]
pub(super) struct OperationTimer {
    metrics: Arc<OperationMetrics>,
    context: Arc<RequestContext>,
    begun: Instant,
    error: ErrorType,
}

/// Returns how a request ended, from its outcome.
pub(super) fn error_type<T>(
    outcome: Result<&T, &RpcError>,
    is_tool_error: impl FnOnce(&T) -> bool,
) -> ErrorType {
    match outcome {
        Ok(result) if is_tool_error(result) => ErrorType::TOOL_ERROR,
        Ok(_) => ErrorType::NONE,
        Err(error) => ErrorType::of_code(error.code),
    }
}

impl OperationMetrics {
    pub(super) fn new() -> Arc<Self> {
        let methods = Method::LABELS.iter().map(|label| (*label, OperationHistograms::default()));
        Arc::new(Self {
            methods: methods.collect(),
            tools: HistogramsByName::new(MAX_ITEMS),
            prompts: HistogramsByName::new(MAX_ITEMS),
            sessions: Arc::default(),
        })
    }

    /// Records that this request calls this tool.
    pub(super) fn note_tool(&self, context: &RequestContext, tool: &PublishedTool) {
        let own = || self.tools.get(shown(&tool.plugin, &tool.name)?);
        context.note_histograms(tool.histograms.of(own));
    }

    /// Records that this request gets this prompt.
    pub(super) fn note_prompt(&self, context: &RequestContext, prompt: &PublishedPrompt) {
        let own = || self.prompts.get(shown(&prompt.plugin, &prompt.name)?);
        context.note_histograms(prompt.histograms.of(own));
    }

    /// Counts a request that is not about an item.
    pub(super) fn record(&self, method: &Method, time: Duration, error: ErrorType) {
        if let Some(histograms) = self.methods.get(method.label()) {
            histograms.record(time, error);
        }
    }

    /// Returns the metrics now; of the items, those in this snapshot.
    pub(super) fn families(&self, snapshot: &Snapshot) -> Vec<MetricFamily> {
        let mut requests = MetricFamily::new(
            MetricKind::Histogram,
            "mcp_server_operation_duration_seconds",
            "Time from a request until its response, by method, published tool or prompt, and error.",
        );
        for (method, histograms) in &self.methods {
            add(&mut requests, &[("mcp_method_name", *method)], histograms);
        }
        for (name, histograms) in self.tools.read(|name| snapshot.tool(name).is_some()) {
            let labels = [("mcp_method_name", Method::CallTool.label()), ("gen_ai_tool_name", &*name)];
            add(&mut requests, &labels, &histograms);
        }
        for (name, histograms) in self.prompts.read(|name| snapshot.prompt(name).is_some()) {
            let labels = [("mcp_method_name", Method::GetPrompt.label()), ("gen_ai_prompt_name", &*name)];
            add(&mut requests, &labels, &histograms);
        }
        let sessions = MetricFamily::single(
            MetricKind::Histogram,
            "mcp_server_session_duration_seconds",
            "How long sessions took that have ended.",
            MetricValue::Histogram(self.sessions.durations().read()),
        );
        let open = MetricFamily::single(
            MetricKind::Gauge,
            "plugport_sessions",
            "Sessions that are open.",
            self.sessions.open(),
        );
        vec![requests, sessions, open]
    }
}

/// Returns the name as a label; `None` if it contains a secret of the plugin.
fn shown<'n>(plugin: &Plugin, name: &'n str) -> Option<&'n str> {
    (plugin.redactor().text(name) == name).then_some(name)
}

fn add(family: &mut MetricFamily, labels: &[(&'static str, &str)], histograms: &OperationHistograms) {
    for (error, histogram) in histograms.read() {
        let error = error.map(|error| ("error_type", error));
        let labels: Labels =
            labels.iter().copied().chain(error).map(|(name, value)| (name, value.to_owned())).collect();
        family.samples.push(Sample { labels, value: MetricValue::Histogram(histogram) });
    }
}

impl OperationTimer {
    /// Starts timing a request, if the server has metrics.
    pub(super) fn start(
        metrics: Option<&Arc<OperationMetrics>>,
        context: &Arc<RequestContext>,
    ) -> Option<Self> {
        let metrics = Arc::clone(metrics?);
        let (context, begun) = (Arc::clone(context), Instant::now());
        Some(Self { metrics, context, begun, error: ErrorType::CANCELLED })
    }

    /// Records that the request has ended; with `None` as outcome it was cancelled.
    pub(super) fn end(mut self, outcome: &HandlerOutcome) {
        if let Some(outcome) = outcome {
            self.error = error_type(outcome.as_ref(), |result| result.is_tool_error());
        }
    }
}

impl Drop for OperationTimer {
    fn drop(&mut self) {
        let time = self.begun.elapsed();
        match self.context.histograms() {
            Some(histograms) => histograms.record(time, self.error),
            None => self.metrics.record(&self.context.request.method, time, self.error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_nobody_knows_is_one_of_the_others() {
        let metrics = OperationMetrics::new();
        for name in ["x/y", "tools/list", "nothing"] {
            metrics.record(&Method::parse(name), Duration::ZERO, ErrorType::of_code(-32601));
        }
        let families = metrics.families(&Snapshot::new(Vec::new()));
        let label =
            |sample: &Sample| sample.labels.first().map(|(_, value)| value.clone()).unwrap_or_default();
        let mut labels: Vec<String> = families[0].samples.iter().map(label).collect();
        labels.sort();
        assert_eq!(labels, ["_OTHER", "tools/list"]);
    }
}
