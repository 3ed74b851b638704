//! All series of a server, and the text of a scrape.
//!
//! A scrape walks over the series while calls record in them, and holds no lock that a recording takes. So two values of
//! one scrape may be some nanoseconds apart.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::families::{self, Family};
use super::labels::{AuthOutcome, LabeledCounter, Rejection, Reload};
use super::operation::{MethodSeries, OperationSlot, OperationTimer};
use super::plugin::{PluginMetrics, PluginSeries};
use super::process;
use super::text::{FamilyWriter, Samples};

/// The size of the first scrape; each later one begins with that of the scrape before.
const FIRST_LENGTH: usize = 64 << 10;

/// Adds what its owner knows when somebody scrapes.
type Owner = Arc<dyn Fn(&mut Samples) + Send + Sync>;

/// Writes one family of a plugin.
type WritePlugin = fn(&PluginSeries, &mut FamilyWriter<'_>);

/// The metrics of a server. Clones share them. The default has none, and then nothing is recorded.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Registry>>);

struct Registry {
    /// Since 1970.
    started: Duration,
    methods: MethodSeries,
    rejections: Arc<LabeledCounter<Rejection>>,
    authentications: LabeledCounter<AuthOutcome>,
    reloads: LabeledCounter<Reload>,
    /// By the plugins' names.
    plugins: Mutex<BTreeMap<Box<str>, Weak<PluginSeries>>>,
    owners: Mutex<Vec<Owner>>,
    /// Length of the last scrape, bytes.
    length: AtomicUsize,
}

impl Metrics {
    /// The metrics of a server that starts now.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Arc::new(Registry {
            started: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            methods: MethodSeries::new(),
            rejections: Arc::new(LabeledCounter::new()),
            authentications: LabeledCounter::new(),
            reloads: LabeledCounter::new(),
            plugins: Mutex::default(),
            owners: Mutex::default(),
            length: AtomicUsize::new(FIRST_LENGTH),
        })))
    }

    /// The series of the plugin with this name; those of its version before, if that is still there.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginMetrics {
        let Some(registry) = &self.0 else { return PluginMetrics::default() };
        let mut plugins = registry.plugins.lock();
        if let Some(series) = plugins.get(name).and_then(Weak::upgrade) {
            return PluginMetrics::new(series);
        }
        plugins.retain(|_, series| series.strong_count() > 0);
        let series = Arc::new(PluginSeries::new(name, Arc::clone(&registry.rejections)));
        plugins.insert(name.into(), Arc::downgrade(&series));
        PluginMetrics::new(series)
    }

    /// Begins to time a request of a method, whose name is a literal of this program. `slot` is where its handler says
    /// what the request is about.
    pub fn time<'r>(&'r self, method: &'static str, slot: &'r OperationSlot) -> OperationTimer<'r> {
        self.0.as_ref().map(|registry| registry.methods.time(method, slot)).unwrap_or_default()
    }

    /// Records something other than a call of a plugin that was rejected; [`PluginMetrics`] records those.
    pub fn rejected(&self, reason: Rejection) {
        if let Some(registry) = &self.0 {
            registry.rejections.add(reason);
        }
    }

    /// Records an authentication.
    pub fn authenticated(&self, outcome: AuthOutcome) {
        if let Some(registry) = &self.0 {
            registry.authentications.add(outcome);
        }
    }

    /// Records a change in the plugin folder.
    pub fn reloaded(&self, outcome: Reload) {
        if let Some(registry) = &self.0 {
            registry.reloads.add(outcome);
        }
    }

    /// Has `owner` called for every scrape. It must not wait for anything, and what it holds lives as long as these
    /// metrics.
    pub fn register(&self, owner: impl Fn(&mut Samples) + Send + Sync + 'static) {
        if let Some(registry) = &self.0 {
            registry.owners.lock().push(Arc::new(owner));
        }
    }

    /// Everything as the text of a scrape; empty without metrics. It may take some milliseconds.
    #[must_use]
    pub fn exposition(&self) -> String {
        let Some(registry) = &self.0 else { return String::new() };
        // What has been added since the last scrape fits too, so that the text is not copied while it grows.
        let last = registry.length.load(Ordering::Relaxed);
        let mut text = String::with_capacity(last.saturating_add(last / 8));
        registry.write_series(&mut text);
        registry.write_samples(&mut text);
        registry.length.store(text.len(), Ordering::Relaxed);
        text
    }
}

impl Registry {
    fn write_series(&self, text: &mut String) {
        let plugins: Vec<_> = self.plugins.lock().values().filter_map(Weak::upgrade).collect();
        let mut operations = FamilyWriter::new(text, &families::OPERATION_DURATION);
        self.methods.write(&mut operations);
        plugins.iter().for_each(|plugin| plugin.write_operations(&mut operations));
        let of_plugins: [(&'static Family, WritePlugin); 6] = [
            (&families::CALLS, PluginSeries::write_calls),
            (&families::CALL_FUEL, PluginSeries::write_fuel),
            (&families::CALL_CPU, PluginSeries::write_cpu),
            (&families::CALL_MEMORY, PluginSeries::write_memory),
            (&families::DENIALS, PluginSeries::write_denials),
            (&families::LIMITS, PluginSeries::write_limits),
        ];
        for (family, write) in of_plugins {
            let mut writer = FamilyWriter::new(text, family);
            plugins.iter().for_each(|plugin| write(plugin, &mut writer));
        }
        self.rejections.write(&mut FamilyWriter::new(text, &families::REJECTED), "");
        self.authentications.write(&mut FamilyWriter::new(text, &families::AUTHENTICATIONS), "");
        self.reloads.write(&mut FamilyWriter::new(text, &families::RELOADS), "");
    }

    /// Writes what is known only now.
    fn write_samples(&self, text: &mut String) {
        let mut samples = Samples::default();
        samples.add(&families::BUILD_INFO, &[("version", env!("CARGO_PKG_VERSION"))], 1_u64);
        samples.add(&families::PROCESS_START_TIME, &[], self.started);
        process::collect(&mut samples);
        // Not under the lock, so that an owner may register another one.
        let owners = self.owners.lock().clone();
        owners.iter().for_each(|owner| owner(&mut samples));
        samples.write(text);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("is_enabled", &self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::labels::{CallEnd, OperationEnd};
    use super::super::operation::OperationMetrics;
    use super::*;

    /// Names with labels, of all samples.
    fn series(metrics: &Metrics) -> Vec<String> {
        let text = metrics.exposition();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    }

    fn call(metrics: &Metrics, tool: &OperationMetrics) {
        let slot = OperationSlot::default();
        slot.set_item(tool);
        metrics.time("tools/call", &slot).end(OperationEnd::Ok);
    }

    #[test]
    fn invented_names_and_codes_make_no_series() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("p");
        let tool = plugin.tool("p-t");
        call(&metrics, &tool);
        for code in 0..1_000 {
            let unknown = OperationSlot::default();
            metrics.time("tools/call", &unknown).end(OperationEnd::of_code(code));
            plugin.denied(&format!("grant{code}"));
        }
        let before = series(&metrics);
        for code in 1_000..100_000 {
            let unknown = OperationSlot::default();
            metrics.time("tools/call", &unknown).end(OperationEnd::of_code(code));
            plugin.denied(&format!("grant{code}"));
        }
        assert_eq!(series(&metrics), before);
        assert_eq!(before.iter().collect::<HashSet<_>>().len(), before.len(), "a series is there twice");
    }

    #[test]
    fn the_series_of_a_plugin_outlive_a_version_and_end_with_the_last() {
        let metrics = Metrics::new();
        let of_plugin =
            |metrics: &Metrics| series(metrics).iter().filter(|one| one.contains("plugin=\"p\"")).count();
        let first = metrics.plugin("p");
        let tool = first.tool("p-t");
        call(&metrics, &tool);
        let with_one = of_plugin(&metrics);
        let second = metrics.plugin("p");
        drop((first, tool));
        second.call_ended(CallEnd::Ok, 5, Duration::from_millis(1), 1 << 20);
        let text = metrics.exposition();
        assert!(text.contains("plugport_calls_total{plugin=\"p\",outcome=\"ok\"} 1\n"), "{text}");
        assert!(!text.contains("p-t"), "its tool is no longer listed");
        assert!(with_one > 0);
        drop(second);
        assert_eq!(of_plugin(&metrics), 0);
    }

    #[test]
    fn a_family_is_there_once_whoever_adds_to_it() {
        let metrics = Metrics::new();
        metrics.register(|samples| samples.add(&families::SESSIONS, &[("transport", "sse")], 2_u64));
        let inner = metrics.clone();
        metrics.register(move |samples| {
            inner.rejected(Rejection::Sessions);
            samples.add(&families::PLUGINS, &[("state", "serving")], 1_u64);
            samples.add(&families::SESSIONS, &[("transport", "streamable_http")], 3_u64);
        });
        let plugins = ["a", "b"].map(|name| metrics.plugin(name));
        plugins.iter().for_each(|plugin| {
            plugin.call_ended(CallEnd::Terminated, 5, Duration::from_millis(1), 1 << 20);
            plugin.limit_hit("fuel");
            plugin.call_rejected(Rejection::Busy);
        });
        let text = metrics.exposition();
        let heads: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        assert_eq!(heads.iter().collect::<HashSet<_>>().len(), heads.len(), "{heads:?}");
        for line in [
            "plugport_sessions{transport=\"sse\"} 2",
            "plugport_sessions{transport=\"streamable_http\"} 3",
            "plugport_limits_total{plugin=\"b\",limit=\"fuel\"} 1",
            "plugport_calls_total{plugin=\"a\",outcome=\"terminated\"} 1",
            "plugport_calls_total{plugin=\"a\",outcome=\"rejected\"} 1",
            "plugport_rejected_total{reason=\"busy\"} 2",
            "plugport_rejected_total{reason=\"max_sessions\"} 0",
            "plugport_call_memory_bytes_sum{plugin=\"a\"} 1048576",
            "plugport_reloads_total{outcome=\"published\"} 0",
            "plugport_authentications_total{outcome=\"invalid\"} 0",
            concat!("plugport_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in:\n{text}");
        }
    }

    #[test]
    fn what_is_recorded_during_scrapes_is_counted_once() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("p");
        let tool = plugin.tool("p-t");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        call(&metrics, &tool);
                        plugin.call_ended(CallEnd::Ok, 1, Duration::from_micros(20), 1);
                    }
                });
            }
            scope.spawn(|| (0..50).for_each(|_| drop(metrics.exposition())));
        });
        let text = metrics.exposition();
        assert!(text.contains("plugport_call_fuel_sum{plugin=\"p\"} 20000\n"), "{text}");
        assert!(text.contains("gen_ai_tool_name=\"p-t\"} 20000\n"), "{text}");
    }

    #[test]
    fn without_metrics_there_is_nothing() {
        let metrics = Metrics::default();
        metrics.register(|samples| samples.add(&families::SESSIONS, &[], 1_u64));
        call(&metrics, &metrics.plugin("p").tool("p-t"));
        metrics.authenticated(AuthOutcome::Ok);
        assert_eq!(metrics.exposition(), "");
    }
}
