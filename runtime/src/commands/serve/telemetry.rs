//! Metrics of `serve`: the listener for them, what is known only when somebody scrapes, and changes of the plugin
//! folder.
//!
//! The catalog, the load status, the server and the audit know these values anyway, so nothing here counts them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;

use super::super::status::{rejected_state, served_state};
use super::{CommandError, console};
use crate::catalog::Catalog;
use crate::config::TelemetryConfig;
use crate::mcp::Server;
use crate::observe::Audit;
use crate::observe::metrics::{Metrics, Reload, Samples, families};
use crate::transport::http;
use crate::watch::{FolderEvent, LoadStatus, ProblemSource, StatusSnapshot};

/// The states of plugins and files, as `plugport status` names them.
const STATES: [&str; 5] = ["serving", "quarantined", "draining", "pending", "failed"];

const PROBLEMS: [ProblemSource; 3] =
    [ProblemSource::Folder, ProblemSource::Configuration, ProblemSource::Lockfile];

/// The metrics of a server with this configuration; without a listener for them there are none.
pub(super) fn metrics(config: &TelemetryConfig) -> Metrics {
    if config.listen.is_some() { Metrics::new() } else { Metrics::default() }
}

/// Binds the listener, if there is one.
pub(super) fn listen(config: &TelemetryConfig) -> Result<Option<http::Listener>, CommandError> {
    let Some(address) = config.listen else { return Ok(None) };
    let bound = http::Listener::bind(address).with_context(|| {
        format!("cannot serve metrics at {address}; stop what uses it, or choose another `listen` under [telemetry]")
    });
    let listener = bound?;
    console::eprint(&format!("serving metrics at http://{}/metrics", listener.address));
    Ok(Some(listener))
}

/// Counts a change of the plugin folder.
pub(super) fn count(metrics: &Metrics, event: &FolderEvent<'_>) {
    let outcome = match event {
        FolderEvent::Published(..) => Reload::Published,
        FolderEvent::Rejected(_) => Reload::Rejected,
        FolderEvent::Removed(_) => Reload::Removed,
        FolderEvent::Withdrawn(_) => Reload::Withdrawn,
        _ => return,
    };
    metrics.reloaded(outcome);
}

/// Has the values that are known anyway read for every scrape.
pub(super) fn register(
    metrics: &Metrics,
    server: &Arc<Server>,
    catalog: &Arc<Catalog>,
    load_status: &Arc<LoadStatus>,
    audit: Audit,
) {
    // Weak, since the server has the metrics.
    let server = Arc::downgrade(server);
    let (catalog, load_status) = (Arc::clone(catalog), Arc::clone(load_status));
    metrics.register(move |samples| {
        let status = load_status.snapshot();
        add_states(samples, &catalog, &status);
        if let Some(server) = server.upgrade() {
            add_calls(samples, &server, &catalog, &status);
        }
        samples.add(&families::AUDIT_LOST, &[], audit.lost());
    });
}

fn add_states(samples: &mut Samples, catalog: &Catalog, status: &StatusSnapshot) {
    let snapshot = catalog.current();
    let served = snapshot.entries().iter().map(|entry| served_state(&snapshot, entry));
    let states = served.chain(status.rejected.iter().map(rejected_state));
    let mut counts = BTreeMap::from(STATES.map(|state| (state, 0_usize)));
    for state in states.chain(status.draining.iter().map(|_| "draining")) {
        *counts.entry(state).or_default() += 1;
    }
    for (state, count) in counts {
        samples.add(&families::PLUGINS, &[("state", state)], count);
    }
    for source in PROBLEMS {
        let is_there = status.problems.iter().any(|problem| problem.kind == source);
        samples.add(&families::PROBLEMS, &[("kind", source.as_str())], is_there);
    }
}

/// Adds the calls of each plugin, those of its replaced versions included.
fn add_calls(samples: &mut Samples, server: &Server, catalog: &Catalog, status: &StatusSnapshot) {
    let (snapshot, suspended) = (catalog.current(), server.suspended_by_plugin());
    let versions = snapshot.entries().iter().map(|entry| &entry.plugin).chain(&status.draining);
    let mut calls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for plugin in versions {
        let (running, queued) = calls.entry(plugin.name()).or_default();
        *running += plugin.running();
        *queued += plugin.queued();
    }
    for (name, (running, queued)) in calls {
        let labels = [("plugin", name)];
        samples.add(&families::CALLS_RUNNING, &labels, running);
        samples.add(&families::CALLS_QUEUED, &labels, queued);
        samples.add(&families::CALLS_SUSPENDED, &labels, suspended.get(name).copied().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::catalog::Snapshot;
    use crate::config::{ApprovalMode, ServerConfig};

    #[test]
    fn states_and_problems_are_read_when_somebody_scrapes() {
        let metrics = Metrics::new();
        let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
        let server = Arc::new(Server::new(Arc::clone(&catalog), ServerConfig::default()));
        let load_status = Arc::new(LoadStatus::new(9, ApprovalMode::Off));
        register(&metrics, &server, &catalog, &load_status, Audit::disabled());
        let has = |line: &str| metrics.exposition().lines().any(|known| known == line);
        assert!(has("plugport_plugins{state=\"pending\"} 0") && has("plugport_problems{kind=\"lock\"} 0"));
        load_status.file_rejected(Path::new("a.wasm"), Some("a"), "approve it", true, None);
        load_status.set_problem(ProblemSource::Lockfile, "restore it".to_owned());
        assert!(has("plugport_plugins{state=\"pending\"} 1") && has("plugport_problems{kind=\"lock\"} 1"));
        assert!(has("plugport_plugins{state=\"serving\"} 0") && has("plugport_audit_lost_total 0"));
    }

    #[test]
    fn a_server_without_a_listener_records_nothing() {
        assert_eq!(metrics(&TelemetryConfig::default()).exposition(), "");
        assert!(listen(&TelemetryConfig::default()).is_ok_and(|listener| listener.is_none()));
    }
}
