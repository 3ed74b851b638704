//! What `/metrics` and `/ready` say: it gathers the counts of all layers when somebody asks, and keeps none itself.
//!
//! Labels are names of plugins and of published items, and words of this program. None of them comes from a caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use crate::catalog::Catalog;
use crate::mcp::Server;
use crate::observe::Audit;
use crate::observe::metrics::{MetricFamily, MetricKind, process_families, prometheus_text};
use crate::observe::trace::SpanCounts;
use crate::plugin::{CallTotals, CounterSnapshot};
use crate::sandbox::GuestMemory;
use crate::transport::telemetry::TelemetryPages;
use crate::watch::{LoadStatus, StatusSnapshot};

/// The parts of a server that count.
pub(super) struct ServerMetrics {
    pub(super) started: SystemTime,
    pub(super) server: Arc<Server>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) load_status: Arc<LoadStatus>,
    pub(super) call_totals: Arc<CallTotals>,
    pub(super) guest_memory: Arc<GuestMemory>,
    pub(super) audit: Audit,
    /// What became of spans; `None`: there are no traces.
    pub(super) spans: Option<Arc<SpanCounts>>,
    /// Open connections of clients; `None` on stdio.
    pub(super) connections: Option<Arc<AtomicUsize>>,
}

impl TelemetryPages for ServerMetrics {
    fn metrics(&self) -> String {
        prometheus_text(&self.families())
    }

    fn ready(&self) -> Result<(), &'static str> {
        if self.server.stopping().is_cancelled() {
            return Err("stopping: running calls may end, and no new ones are accepted");
        }
        if !self.catalog.is_complete() {
            return Err("loading: not all plugins are loaded yet");
        }
        Ok(())
    }
}

impl ServerMetrics {
    fn families(&self) -> Vec<MetricFamily> {
        let mut families = vec![build_info()];
        families.extend(self.server.metric_families());
        families.extend(call_families(&self.call_totals.read()));
        families.push(self.queued());
        families.push(self.plugins());
        families.push(self.loads());
        families.push(self.authentications());
        families.extend(self.connections.as_ref().map(|connections| {
            let help = "Open connections of clients.";
            gauge("plugport_connections", help, connections.load(Ordering::Relaxed))
        }));
        families.push(MetricFamily::single(
            MetricKind::Counter,
            "plugport_audit_lost_total",
            "Lines of the audit that were lost because the disk did not keep up.",
            self.audit.lost(),
        ));
        families.extend(self.spans.iter().flat_map(|spans| span_families(spans)));
        let help = "Memory that all instances of guests have.";
        families.push(gauge("plugport_guest_memory_bytes", help, self.guest_memory.used()));
        families.extend(process_families(self.started));
        families
    }

    fn queued(&self) -> MetricFamily {
        let mut family =
            MetricFamily::new(MetricKind::Gauge, "plugport_calls_queued", "Calls that wait for a permit.");
        for entry in self.catalog.current().entries() {
            family.add([("plugin", entry.plugin.name())], entry.plugin.queued());
        }
        family
    }

    fn plugins(&self) -> MetricFamily {
        let (snapshot, status) = (self.catalog.current(), self.load_status.snapshot());
        let StatusSnapshot { rejected, draining, .. } = &status;
        let [mut serving, mut quarantined, mut pending, mut failed] = [0_u64; 4];
        for entry in snapshot.entries() {
            let is_withheld = snapshot.owners().withheld(entry.plugin.name()).is_some();
            match (is_withheld, entry.plugin.quarantined()) {
                (true, _) => pending += 1,
                (false, Some(_)) => quarantined += 1,
                (false, None) => serving += 1,
            }
        }
        for file in rejected {
            let count = if file.pending_approval { &mut pending } else { &mut failed };
            *count += 1;
        }
        let draining = u64::try_from(draining.len()).unwrap_or(u64::MAX);
        let help = "Plugins by their status, as `plugport status` has them.";
        let mut family = MetricFamily::new(MetricKind::Gauge, "plugport_plugins", help);
        for (status, count) in [
            ("serving", serving),
            ("quarantined", quarantined),
            ("pending", pending),
            ("failed", failed),
            ("draining", draining),
        ] {
            family.add([("status", status)], count);
        }
        family
    }

    fn loads(&self) -> MetricFamily {
        let (loaded, rejected) = self.load_status.loads();
        let help = "Files of the plugin folder that were loaded, and that were rejected.";
        let mut family = MetricFamily::new(MetricKind::Counter, "plugport_plugin_loads_total", help);
        family.add([("outcome", "loaded")], loaded);
        family.add([("outcome", "rejected")], rejected);
        family
    }

    fn authentications(&self) -> MetricFamily {
        let help = "Requests with valid credentials, and those that were refused for theirs.";
        let mut family = MetricFamily::new(MetricKind::Counter, "plugport_authentications_total", help);
        for (outcome, count) in self.server.authenticator().counts() {
            family.add([("outcome", outcome)], count);
        }
        family
    }
}

fn gauge(name: &'static str, help: &'static str, count: usize) -> MetricFamily {
    MetricFamily::single(MetricKind::Gauge, name, help, count)
}

fn build_info() -> MetricFamily {
    let mut family =
        MetricFamily::new(MetricKind::Gauge, "plugport_build_info", "The version of this program.");
    family.add([("version", env!("CARGO_PKG_VERSION"))], 1_u64);
    family
}

fn span_families(spans: &SpanCounts) -> [MetricFamily; 2] {
    let counter = |name, help, count: u64| MetricFamily::single(MetricKind::Counter, name, help, count);
    [
        counter("plugport_spans_exported_total", "Spans that the collector took.", spans.exported()),
        counter(
            "plugport_spans_dropped_total",
            "Spans that were lost because the collector did not take them in time.",
            spans.dropped(),
        ),
    ]
}

/// The counts of calls, which each plugin has whether or not anybody reads them.
fn call_families(totals: &[(Arc<str>, CounterSnapshot)]) -> Vec<MetricFamily> {
    let counter = |name, help| MetricFamily::new(MetricKind::Counter, name, help);
    let mut calls = counter("plugport_calls_total", "Calls that began, by how they ended.");
    let mut fuel = counter("plugport_call_fuel_total", "Fuel that calls used.");
    let mut cpu = counter("plugport_call_cpu_seconds_total", "Processor time that calls used.");
    let mut limits = counter("plugport_limits_total", "Limits that calls hit.");
    let mut denials = counter("plugport_denials_total", "Denials, by the grant that would have allowed it.");
    let mut rejected =
        counter("plugport_rejected_calls_total", "Calls that were rejected before they began.");
    let help = "Calls that have begun and not ended, suspended ones included.";
    let mut running = MetricFamily::new(MetricKind::Gauge, "plugport_calls_running", help);
    for (plugin, counters) in totals {
        let plugin = ("plugin", &**plugin);
        for (outcome, count) in [
            ("ok", counters.ok),
            ("failed", counters.failed),
            ("terminated", counters.terminated),
            ("cancelled", counters.cancelled),
        ] {
            calls.add([plugin, ("outcome", outcome)], count);
        }
        fuel.add([plugin], counters.fuel);
        cpu.add([plugin], counters.cpu.as_secs_f64());
        running.add([plugin], counters.running);
        for (family, label, counts) in [
            (&mut limits, "limit", &counters.limits),
            (&mut denials, "grant", &counters.denials),
            (&mut rejected, "reason", &counters.rejections),
        ] {
            counts.iter().for_each(|(name, count)| family.add([plugin, (label, *name)], *count));
        }
    }
    vec![calls, fuel, cpu, running, limits, denials, rejected]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::time::Duration;

    use crate::config::{ApprovalMode, ServerConfig};

    fn source() -> ServerMetrics {
        let catalog = Arc::new(Catalog::empty());
        ServerMetrics {
            started: SystemTime::now(),
            server: Arc::new(Server::new(Arc::clone(&catalog), ServerConfig::default()).with_metrics()),
            catalog,
            load_status: Arc::new(LoadStatus::new(9, ApprovalMode::Off)),
            call_totals: Arc::default(),
            guest_memory: GuestMemory::new(&ServerConfig::default()),
            audit: Audit::disabled(),
            spans: Some(Arc::default()),
            connections: None,
        }
    }

    #[tokio::test]
    async fn it_is_ready_between_the_first_load_and_the_end() {
        let source = source();
        assert!(source.ready().unwrap_err().starts_with("loading"));
        source.catalog.set_load_progress(None);
        assert_eq!(source.ready(), Ok(()));
        source.server.stop();
        assert!(source.ready().unwrap_err().starts_with("stopping"));
    }

    #[tokio::test]
    async fn every_metric_has_a_name_of_its_own_and_the_ending_of_its_kind() {
        let families = source().families();
        let mut names: Vec<_> = families.iter().map(|family| family.name).collect();
        for family in &families {
            assert_eq!(
                family.kind == MetricKind::Counter,
                family.name.ends_with("_total"),
                "{}",
                family.name
            );
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), families.len());
    }

    #[test]
    fn the_counts_of_a_plugin_become_series_with_its_name() {
        let counters = CounterSnapshot {
            ok: 3,
            running: 1,
            cpu: Duration::from_millis(1_500),
            denials: BTreeMap::from([("http", 2)]),
            ..CounterSnapshot::default()
        };
        let text = prometheus_text(&call_families(&[("p".into(), counters)]));
        for line in [
            "plugport_calls_total{plugin=\"p\",outcome=\"ok\"} 3",
            "plugport_call_cpu_seconds_total{plugin=\"p\"} 1.5",
            "plugport_calls_running{plugin=\"p\"} 1",
            "plugport_denials_total{plugin=\"p\",grant=\"http\"} 2",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in:\n{text}");
        }
    }
}
