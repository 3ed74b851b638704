//! The series of one plugin, and of its tools and prompts.
//!
//! They belong to the plugin's name and not to one version: a new version takes over the series of the version that it
//! replaces, so a reload resets no counter, and two versions that run at the same time have no series twice. A tool's
//! series end with the last listing that has the tool, so a plugin that lists other tools each time gathers none.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::histogram::{CPU, FUEL, Histogram, MEMORY};
use super::labels::{CallEnd, GrantKey, LabeledCounter, Rejection};
use super::name_table::NameTable;
use super::operation::{OperationMetrics, OperationSeries};
use super::text::{FamilyWriter, Value, render};

/// Names of limits with series of their own; calls can hit about thirty.
const MAX_LIMITS: usize = 48;

/// Series of items beyond which those of items that are gone are forgotten.
const MIN_SWEEP: usize = 64;

/// The series of one plugin.
pub(super) struct PluginSeries {
    name: Box<str>,
    /// The labels, as they are written.
    labels: Box<str>,
    ended: LabeledCounter<CallEnd>,
    rejected: AtomicU64,
    fuel: Histogram,
    cpu: Histogram,
    memory: Histogram,
    denials: LabeledCounter<GrantKey>,
    limits: NameTable<AtomicU64, MAX_LIMITS>,
    resources: Arc<OperationSeries>,
    completions: Arc<OperationSeries>,
    items: Mutex<ItemSeries>,
    /// The server's counters of all rejections.
    rejections: Arc<LabeledCounter<Rejection>>,
}

/// The series of tools and prompts, by the key of the label and the public name.
struct ItemSeries {
    by_name: BTreeMap<(&'static str, Box<str>), Weak<OperationSeries>>,
    /// At how many entries the next sweep is due.
    sweep_at: usize,
}

impl PluginSeries {
    pub(super) fn new(name: &str, rejections: Arc<LabeledCounter<Rejection>>) -> Self {
        let operation =
            |method| Arc::new(OperationSeries::new(&[("plugin", name), ("mcp_method_name", method)]));
        Self {
            name: name.into(),
            labels: render(&[("plugin", name)]).into(),
            ended: LabeledCounter::new(),
            rejected: AtomicU64::new(0),
            fuel: Histogram::new(&FUEL),
            cpu: Histogram::new(&CPU),
            memory: Histogram::new(&MEMORY),
            denials: LabeledCounter::new(),
            limits: NameTable::new(AtomicU64::new(0)),
            resources: operation("resources/read"),
            completions: operation("completion/complete"),
            items: Mutex::new(ItemSeries { by_name: BTreeMap::new(), sweep_at: MIN_SWEEP }),
            rejections,
        }
    }

    /// The series of an item, which those who list it share.
    fn item(&self, method: &str, key: &'static str, name: &str) -> Arc<OperationSeries> {
        let mut items = self.items.lock();
        let known: (&'static str, Box<str>) = (key, name.into());
        if let Some(series) = items.by_name.get(&known).and_then(Weak::upgrade) {
            return series;
        }
        if items.by_name.len() >= items.sweep_at {
            items.by_name.retain(|_, series| series.strong_count() > 0);
            items.sweep_at = items.by_name.len().saturating_mul(2).max(MIN_SWEEP);
        }
        let labels = [("plugin", &*self.name), ("mcp_method_name", method), (key, name)];
        let series = Arc::new(OperationSeries::new(&labels));
        items.by_name.insert(known, Arc::downgrade(&series));
        series
    }

    pub(super) fn write_calls(&self, to: &mut FamilyWriter<'_>) {
        self.ended.write(to, &self.labels);
        let rejected = Value::Number(self.rejected.load(Ordering::Relaxed));
        to.sample(&[&self.labels, ",outcome=\"rejected\""], rejected);
    }

    pub(super) fn write_fuel(&self, to: &mut FamilyWriter<'_>) {
        self.fuel.write(to, &self.labels);
    }

    pub(super) fn write_cpu(&self, to: &mut FamilyWriter<'_>) {
        self.cpu.write(to, &self.labels);
    }

    pub(super) fn write_memory(&self, to: &mut FamilyWriter<'_>) {
        self.memory.write(to, &self.labels);
    }

    pub(super) fn write_denials(&self, to: &mut FamilyWriter<'_>) {
        self.denials.write(to, &self.labels);
    }

    /// Writes the limits that were hit. There are many, and most are never hit.
    pub(super) fn write_limits(&self, to: &mut FamilyWriter<'_>) {
        for (limit, count) in self.limits.iter() {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                to.sample(&[&self.labels, ",limit=\"", limit, "\""], Value::Number(count));
            }
        }
    }

    pub(super) fn write_operations(&self, to: &mut FamilyWriter<'_>) {
        self.resources.write(to);
        self.completions.write(to);
        let items: Vec<_> = self.items.lock().by_name.values().filter_map(Weak::upgrade).collect();
        items.iter().for_each(|series| series.write(to));
    }
}

/// The series of one plugin, for all its versions. Clones share them. Without metrics it does nothing.
#[derive(Clone, Default)]
pub struct PluginMetrics(Option<Arc<PluginSeries>>);

impl PluginMetrics {
    pub(super) fn new(series: Arc<PluginSeries>) -> Self {
        Self(Some(series))
    }

    /// The series of calls of a tool, by its public name without secrets.
    #[must_use]
    pub fn tool(&self, name: &str) -> OperationMetrics {
        self.operation(|series| series.item("tools/call", "gen_ai_tool_name", name))
    }

    /// The series of a prompt, by its public name without secrets.
    #[must_use]
    pub fn prompt(&self, name: &str) -> OperationMetrics {
        self.operation(|series| series.item("prompts/get", "gen_ai_prompt_name", name))
    }

    /// The series of reading its resources; a URI is no label.
    #[must_use]
    pub fn resources(&self) -> OperationMetrics {
        self.operation(|series| Arc::clone(&series.resources))
    }

    /// The series of its completions.
    #[must_use]
    pub fn completions(&self) -> OperationMetrics {
        self.operation(|series| Arc::clone(&series.completions))
    }

    fn operation(&self, find: impl FnOnce(&PluginSeries) -> Arc<OperationSeries>) -> OperationMetrics {
        self.0.as_deref().map(find).map(OperationMetrics::new).unwrap_or_default()
    }

    /// Records a call that began and has ended, with what it used.
    pub fn call_ended(&self, end: CallEnd, fuel: u64, cpu: Duration, memory: usize) {
        let Some(series) = &self.0 else { return };
        series.ended.add(end);
        series.fuel.record(fuel);
        series.cpu.record_time(cpu);
        series.memory.record(u64::try_from(memory).unwrap_or(u64::MAX));
    }

    /// Records a call that was rejected before it began.
    pub fn call_rejected(&self, reason: Rejection) {
        let Some(series) = &self.0 else { return };
        series.rejected.fetch_add(1, Ordering::Relaxed);
        series.rejections.add(reason);
    }

    /// Records that a limit was hit, by its name in the configuration.
    pub fn limit_hit(&self, limit: &'static str) {
        let Some(series) = &self.0 else { return };
        series.limits.get(limit, |_| AtomicU64::new(0)).fetch_add(1, Ordering::Relaxed);
    }

    /// Records a denial, by the key of the grant that is missing.
    pub fn denied(&self, grant: &str) {
        let Some(series) = &self.0 else { return };
        series.denials.add(GrantKey::of(grant));
    }
}

impl fmt::Debug for PluginMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PluginMetrics").field(&self.0.as_ref().map(|series| &series.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin() -> (Arc<PluginSeries>, PluginMetrics) {
        let series = Arc::new(PluginSeries::new("p", Arc::new(LabeledCounter::new())));
        (Arc::clone(&series), PluginMetrics::new(series))
    }

    #[test]
    fn a_tool_that_is_listed_again_keeps_its_series() {
        let (series, metrics) = plugin();
        let same =
            |one: &OperationMetrics, other: &OperationMetrics| format!("{one:?}") == format!("{other:?}");
        let first = metrics.tool("p-t");
        let held = series.item("tools/call", "gen_ai_tool_name", "p-t");
        assert!(same(&first, &OperationMetrics::new(Arc::clone(&held))));
        drop(first);
        assert!(Arc::ptr_eq(&held, &series.item("tools/call", "gen_ai_tool_name", "p-t")));
        assert!(!Arc::ptr_eq(&held, &series.item("prompts/get", "gen_ai_prompt_name", "p-t")));
        let weak = Arc::downgrade(&held);
        drop(held);
        assert!(weak.upgrade().is_none(), "no listing has it");
    }

    #[test]
    fn a_plugin_that_lists_other_tools_each_time_gathers_no_series() {
        let (series, metrics) = plugin();
        let mut listed: Vec<OperationMetrics> = Vec::new();
        for round in 0..1_000 {
            listed = (0..10).map(|at| metrics.tool(&format!("p-{round}-{at}"))).collect();
        }
        assert!(series.items.lock().by_name.len() <= MIN_SWEEP, "{}", series.items.lock().by_name.len());
        drop(listed);
    }

    #[test]
    fn without_metrics_nothing_is_recorded() {
        let metrics = PluginMetrics::default();
        metrics.call_ended(CallEnd::Ok, 1, Duration::ZERO, 1);
        metrics.call_rejected(Rejection::Busy);
        metrics.limit_hit("fuel");
        metrics.denied("http");
        assert_eq!(format!("{:?}", metrics.tool("p-t")), "OperationMetrics(None)");
    }
}
