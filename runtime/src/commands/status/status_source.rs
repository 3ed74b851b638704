//! Makes the status report of this server, and serves it on the status sockets.
//!
//! The report joins what the catalog publishes with what only the folder watcher knows. Each version of a plugin has
//! its own entry, so a plugin that is served while its new file is rejected has two. Secrets in texts of plugins are
//! redacted here; escaping for terminals is left to the reader of the report.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::console;
use super::super::published_names::PublishedNames;
use super::status_document::{CallCounts, PluginStatus, ProblemStatus, StatusReport, UnpublishedItem};
use crate::catalog::{Catalog, PluginEntry, Snapshot};
use crate::config::{ApprovalMode, Config, user_state_dir};
use crate::observe::Redactor;
use crate::plugin::{CounterSnapshot, Plugin};
use crate::transport::status_socket::StatusSocket;
use crate::watch::{LoadStatus, RejectedVersion, StatusSnapshot};

/// Maximum number of unpublished items of one plugin in the report.
const MAX_UNPUBLISHED: usize = 10;

/// Maximum length of such an item's name in bytes, since the plugin chooses it.
const MAX_NAME: usize = 256;

/// Maximum length of a reason in bytes, since it may quote the plugin.
const MAX_REASON: usize = 512;

/// What the report is made from.
pub(in crate::commands) struct StatusSource {
    catalog: Arc<Catalog>,
    load_status: Arc<LoadStatus>,
    since: SystemTime,
    state: Option<PathBuf>,
    folder: PathBuf,
    config: Option<PathBuf>,
}

/// The status sockets, until [`Self::shut_down`].
pub(in crate::commands) struct StatusServer {
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl StatusSource {
    /// The source for a server that starts now.
    pub(in crate::commands) fn new(
        config: &Config,
        catalog: Arc<Catalog>,
        load_status: Arc<LoadStatus>,
    ) -> Self {
        let (state, folder, config) = (config.state_dir.clone(), config.folder.clone(), config.file.clone());
        Self { catalog, load_status, since: SystemTime::now(), state, folder, config }
    }

    /// Serves the report on two sockets: one in the user's state folder, and one in the server's own state folder, for
    /// users of that folder with another home. A server without any socket serves clients all the same. `serving` is
    /// the address for clients.
    pub(in crate::commands) async fn serve(self, serving: String) -> StatusServer {
        let (stop, mut tasks, mut failed) = (CancellationToken::new(), Vec::new(), None);
        let folders = user_state_dir().into_iter().chain(self.state.clone());
        let this = Arc::new(self);
        for folder in folders {
            let (source, serving) = (Arc::clone(&this), serving.clone());
            // Writing cannot fail: all keys of maps are text.
            let document = move || serde_json::to_vec(&source.report(&serving)).unwrap_or_default();
            match StatusSocket::bind(&folder).await {
                Ok(socket) => tasks.push(tokio::spawn(socket.serve(document, stop.clone()))),
                Err(error) => failed = Some(error),
            }
        }
        if tasks.is_empty() {
            let why = failed.map(anyhow::Error::from).map_or_else(
                || "there is no folder for its socket; set HOME or XDG_STATE_HOME".to_owned(),
                |error| format!("{error:#}"),
            );
            console::eprint(&format!("`plugport status` will not find this server: {why}"));
        }
        StatusServer { stop, tasks }
    }

    fn report(&self, serving: &str) -> StatusReport {
        let snapshot = self.catalog.current();
        let StatusSnapshot { rejected, draining, problems } = self.load_status.snapshot();
        let mut plugins: Vec<PluginStatus> =
            snapshot.entries().iter().map(|entry| self.served(&snapshot, entry)).collect();
        plugins.extend(draining.iter().map(|plugin| draining_version(plugin)));
        plugins.extend(rejected.iter().map(rejected_version));
        let problem = |known: &crate::watch::Problem| ProblemStatus {
            kind: known.kind.as_str().to_owned(),
            reason: known.why.clone(),
        };
        let approval = match self.load_status.approval_mode() {
            ApprovalMode::Off => "off",
            ApprovalMode::Warn => "warn",
            ApprovalMode::Strict => "strict",
        };
        StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            since: time(self.since),
            serving: serving.to_owned(),
            folder: self.folder.display().to_string(),
            config: self.config.as_ref().map(|file| file.display().to_string()),
            approval: approval.to_owned(),
            problems: problems.iter().map(problem).collect(),
            plugins,
        }
    }

    fn served(&self, snapshot: &Snapshot, entry: &PluginEntry) -> PluginStatus {
        let plugin = &entry.plugin;
        let quarantine_left = plugin.quarantined();
        let withheld = snapshot.owners().withheld(plugin.name());
        let state = match (withheld, quarantine_left) {
            (Some(_), _) => "pending",
            (None, Some(_)) => "quarantined",
            (None, None) => "serving",
        };
        let quarantined = quarantine_left
            .map(|_| "its calls keep failing (limits `quarantine_failures`, `quarantine_s`)".to_owned());
        let published = PublishedNames::of(snapshot, plugin.name()).redacted(plugin.redactor());
        let file = self.folder.join(format!("{}.wasm", plugin.name()));
        PluginStatus {
            file: Some(file.display().to_string()),
            state: state.to_owned(),
            reason: withheld.map(ToOwned::to_owned).or(quarantined).or_else(|| unapproved(entry)),
            published: Some(published),
            unpublished: Some(unpublished(snapshot, entry)),
            unpublished_more: Some(snapshot.rejected(entry).count().saturating_sub(MAX_UNPUBLISHED)),
            quarantined_s: quarantine_left.map(|left| left.as_secs() + 1),
            ..version(plugin)
        }
    }
}

/// How the plugin differs from its approval, although it is served. A difference of the whole plugin comes first.
fn unapproved(entry: &PluginEntry) -> Option<String> {
    let plugin = &entry.plugin;
    let verdict = entry.approval.check_file(plugin.name(), plugin.digest(), &plugin.config().grants);
    let why = verdict.unwrap_or_else(Some).or_else(|| entry.unapproved.first().cloned())?;
    Some(truncated(plugin.redactor(), &why, MAX_REASON))
}

/// The first items of the plugin that are not published.
fn unpublished(snapshot: &Snapshot, entry: &PluginEntry) -> Vec<UnpublishedItem> {
    let redactor = entry.plugin.redactor();
    let first = snapshot.rejected(entry).take(MAX_UNPUBLISHED);
    let items = first.map(|item| UnpublishedItem {
        kind: item.kind.as_str().to_owned(),
        name: truncated(redactor, &item.name, MAX_NAME),
        reason: truncated(redactor, &item.why, MAX_REASON),
    });
    items.collect()
}

/// The beginning of a text without secrets, even if a secret spans the cut.
fn truncated(redactor: &Redactor, text: &str, max_bytes: usize) -> String {
    let cut = if text.len() > max_bytes { "…" } else { "" };
    format!("{}{cut}", redactor.prefix(text, max_bytes))
}

/// The fields of any version, whether or not it is published.
fn version(plugin: &Plugin) -> PluginStatus {
    PluginStatus {
        name: Some(plugin.name().to_owned()),
        digest: Some(digest(plugin.digest())),
        instances: Some(plugin.config().instances.as_str().to_owned()),
        idle_instances: plugin.idle_instances(),
        counts: counts(plugin.counters()),
        ..PluginStatus::default()
    }
}

fn draining_version(plugin: &Plugin) -> PluginStatus {
    let reason =
        "it was replaced or removed, and calls that began before may finish (setting [server] `drain_s`)";
    PluginStatus { state: "draining".to_owned(), reason: Some(reason.to_owned()), ..version(plugin) }
}

fn rejected_version(file: &RejectedVersion) -> PluginStatus {
    PluginStatus {
        name: file.plugin.clone(),
        file: Some(file.path.display().to_string()),
        digest: file.digest.as_deref().map(digest),
        state: if file.pending_approval { "pending" } else { "failed" }.to_owned(),
        reason: Some(file.why.clone()),
        ..PluginStatus::default()
    }
}

fn counts(counters: CounterSnapshot) -> CallCounts {
    CallCounts {
        calls: counters.begun,
        running: counters.running,
        ok: counters.ok,
        failed: counters.failed,
        terminated: counters.terminated,
        cancelled: counters.cancelled,
        rejected: counters.rejected,
        limits: counters.limits.into_iter().map(|(name, times)| (name.to_owned(), times)).collect(),
        fuel: counters.fuel,
        last_call: counters.last.map(time),
    }
}

fn digest(digest: &str) -> String {
    format!("sha256:{digest}")
}

fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

impl StatusServer {
    /// Stops serving and removes the sockets.
    pub(in crate::commands) async fn shut_down(mut self) {
        self.stop.cancel();
        for task in std::mem::take(&mut self.tasks) {
            if let Err(error) = task.await {
                tracing::error!(%error, "the status socket failed");
            }
        }
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use serde_json::json;

    use crate::watch::ProblemSource;

    #[test]
    fn a_server_without_plugins_tells_of_itself_and_of_its_files() {
        let load_status = Arc::new(LoadStatus::new(9, ApprovalMode::Strict));
        let digest = Some("ab".to_owned());
        load_status.file_rejected(Path::new("plugins/a.wasm"), Some("a"), "approve it", true, digest);
        load_status.file_rejected(Path::new("plugins/b c.wasm"), None, "rename it", false, None);
        load_status.set_problem(ProblemSource::Lockfile, "restore it".to_owned());
        let config = Config::new("plugins".into());
        let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
        let report = StatusSource::new(&config, catalog, load_status).report("stdio");
        let document = serde_json::to_value(&report).unwrap();
        assert_eq!((&document["serving"], &document["approval"]), (&json!("stdio"), &json!("strict")));
        assert_eq!((&document["config"], &document["folder"]), (&json!(null), &json!("plugins")));
        assert_eq!(document["problems"], json!([{ "kind": "lock", "reason": "restore it" }]));
        let [held, failed] = document["plugins"].as_array().unwrap().as_slice() else { panic!("{document}") };
        assert_eq!(
            (&held["name"], &held["state"], &held["digest"]),
            (&json!("a"), &json!("pending"), &json!("sha256:ab"))
        );
        assert_eq!(
            (&held["reason"], &held["calls"], &held["limits"]),
            (&json!("approve it"), &json!(0), &json!({}))
        );
        assert_eq!(
            (&failed["name"], &failed["state"], &failed["digest"]),
            (&json!(null), &json!("failed"), &json!(null))
        );
        let read: StatusReport = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(read, report, "the reader gets what the server wrote");
    }

    #[test]
    fn a_text_that_is_cut_has_no_part_of_a_secret() {
        let redactor = Redactor::new(["hunter2hunter2"]);
        assert_eq!(truncated(&redactor, "short", 5), "short");
        assert_eq!(truncated(&redactor, "long as it is", 4), "long…");
        let cut = truncated(&redactor, "it is hunter2hunter2", 10);
        assert!(!cut.contains("hunt"), "{cut}");
    }
}
