//! The durations of MCP requests: a histogram for each method, tool and prompt, and for each way in which they ended.
//!
//! Most tools are never called, and most ways of failing never occur, so a histogram is made when something is first
//! recorded in it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::histogram::{DURATION, Histogram};
use super::labels::{Label as _, OTHER, OperationEnd};
use super::name_table::NameTable;
use super::text::{FamilyWriter, render};

/// Methods with series of their own; MCP has about twenty that a server handles.
const MAX_METHODS: usize = 32;

/// The number of ways in which a request may end.
const ENDS: usize = OperationEnd::ALL.len();

/// The series of one method, tool or prompt.
#[derive(Debug)]
pub(super) struct OperationSeries {
    /// The labels, as they are written.
    labels: Box<str>,
    by_end: OnceLock<Box<[OnceLock<Histogram>; ENDS]>>,
}

impl OperationSeries {
    pub(super) fn new(labels: &[(&str, &str)]) -> Self {
        Self { labels: render(labels).into(), by_end: OnceLock::new() }
    }

    /// The series of a method for requests that are about no item of the catalog.
    fn of_method(method: &'static str) -> Self {
        let key = match method {
            "tools/call" => "gen_ai_tool_name",
            "prompts/get" => "gen_ai_prompt_name",
            _ => return Self::new(&[("mcp_method_name", method)]),
        };
        Self::new(&[("mcp_method_name", method), (key, OTHER)])
    }

    fn record(&self, end: OperationEnd, time: Duration) {
        let by_end = self.by_end.get_or_init(|| Box::new([const { OnceLock::new() }; ENDS]));
        if let Some(histogram) = by_end.get(end.index()) {
            histogram.get_or_init(|| Histogram::new(&DURATION)).record_time(time);
        }
    }

    pub(super) fn write(&self, to: &mut FamilyWriter<'_>) {
        let Some(by_end) = self.by_end.get() else { return };
        for (end, histogram) in OperationEnd::ALL.iter().zip(by_end.iter()) {
            let Some(histogram) = histogram.get() else { continue };
            let error = end.as_str();
            let labels = match end {
                OperationEnd::Ok => self.labels.to_string(),
                end if end.is_code() => {
                    format!("{},error_type=\"{error}\",rpc_response_status_code=\"{error}\"", self.labels)
                }
                _ => format!("{},error_type=\"{error}\"", self.labels),
            };
            histogram.write(to, &labels);
        }
    }
}

/// The series of requests for one tool or prompt, or for the resources or completions of one plugin. Clones share them.
#[derive(Clone, Default)]
pub struct OperationMetrics(Option<Arc<OperationSeries>>);

impl OperationMetrics {
    pub(super) fn new(series: Arc<OperationSeries>) -> Self {
        Self(Some(series))
    }
}

impl fmt::Debug for OperationMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OperationMetrics").field(&self.0.as_ref().map(|series| &series.labels)).finish()
    }
}

/// What a handler finds out about its request: the item that the request is about, and whether the tool failed.
#[derive(Debug, Default)]
pub struct OperationSlot {
    item: OnceLock<OperationMetrics>,
    is_tool_error: AtomicBool,
}

impl OperationSlot {
    /// The request is about this item of the catalog. Only the first call counts.
    pub fn set_item(&self, item: &OperationMetrics) {
        if item.0.is_some() {
            self.item.get_or_init(|| item.clone());
        }
    }

    /// The result is a tool result that says `isError`.
    pub fn set_tool_error(&self) {
        self.is_tool_error.store(true, Ordering::Relaxed);
    }
}

/// The series of requests that are about no item of the catalog, by method.
#[derive(Debug)]
pub(super) struct MethodSeries(NameTable<OperationSeries, MAX_METHODS>);

impl MethodSeries {
    pub(super) fn new() -> Self {
        Self(NameTable::new(OperationSeries::of_method(OTHER)))
    }

    /// Begins to time a request.
    pub(super) fn time<'r>(&'r self, method: &'static str, slot: &'r OperationSlot) -> OperationTimer<'r> {
        let (begun, end) = (Instant::now(), OperationEnd::Cancelled);
        OperationTimer(Some(RunningOperation { methods: self, method, slot, begun, end }))
    }

    pub(super) fn write(&self, to: &mut FamilyWriter<'_>) {
        self.0.iter().for_each(|(_, series)| series.write(to));
    }
}

/// Times one request, and records it when dropped. Without an end the request was cancelled.
#[derive(Debug, Default)]
#[must_use = "a request that is timed ends when the timer is dropped"]
pub struct OperationTimer<'r>(Option<RunningOperation<'r>>);

#[derive(Debug)]
struct RunningOperation<'r> {
    methods: &'r MethodSeries,
    method: &'static str,
    slot: &'r OperationSlot,
    begun: Instant,
    end: OperationEnd,
}

impl OperationTimer<'_> {
    /// The request has ended.
    pub fn end(mut self, end: OperationEnd) {
        if let Some(running) = &mut self.0 {
            running.end = end;
        }
    }
}

impl Drop for RunningOperation<'_> {
    fn drop(&mut self) {
        let failed = self.slot.is_tool_error.load(Ordering::Relaxed);
        let end = if self.end == OperationEnd::Ok && failed { OperationEnd::ToolError } else { self.end };
        let item = self.slot.item.get().and_then(|item| item.0.as_deref());
        let series = item.unwrap_or_else(|| self.methods.0.get(self.method, OperationSeries::of_method));
        series.record(end, self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::*;

    fn counts(write: impl FnOnce(&mut FamilyWriter<'_>)) -> Vec<String> {
        let mut text = String::new();
        write(&mut FamilyWriter::new(&mut text, &families::OPERATION_DURATION));
        let lines =
            text.lines().filter_map(|line| line.strip_prefix("mcp_server_operation_duration_seconds_count"));
        lines.map(ToOwned::to_owned).collect()
    }

    #[test]
    fn a_request_counts_for_its_item_or_else_for_its_method() {
        let methods = MethodSeries::new();
        let tool = Arc::new(OperationSeries::new(&[("plugin", "p"), ("gen_ai_tool_name", "p-t")]));
        let time = |slot: &OperationSlot, end| methods.time("tools/call", slot).end(end);
        let item = OperationSlot::default();
        item.set_item(&OperationMetrics::new(Arc::clone(&tool)));
        item.set_item(&OperationMetrics::new(Arc::new(OperationSeries::new(&[]))));
        time(&item, OperationEnd::Ok);
        item.set_tool_error();
        time(&item, OperationEnd::Ok);
        time(&item, OperationEnd::Internal);
        drop(methods.time("tools/call", &item));
        assert_eq!(
            counts(|to| tool.write(to)),
            [
                "{plugin=\"p\",gen_ai_tool_name=\"p-t\"} 1",
                "{plugin=\"p\",gen_ai_tool_name=\"p-t\",error_type=\"tool_error\"} 1",
                "{plugin=\"p\",gen_ai_tool_name=\"p-t\",error_type=\"cancelled\"} 1",
                "{plugin=\"p\",gen_ai_tool_name=\"p-t\",error_type=\"-32603\",rpc_response_status_code=\"-32603\"} 1",
            ]
        );
        assert!(counts(|to| methods.write(to)).is_empty());
        let unknown = OperationSlot::default();
        unknown.set_item(&OperationMetrics::default());
        time(&unknown, OperationEnd::of_code(-32602));
        methods.time("ping", &unknown).end(OperationEnd::Ok);
        assert_eq!(
            counts(|to| methods.write(to)),
            [
                "{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"_OTHER\",error_type=\"-32602\",\
                 rpc_response_status_code=\"-32602\"} 1",
                "{mcp_method_name=\"ping\"} 1",
            ]
        );
        OperationTimer::default().end(OperationEnd::Ok);
    }
}
