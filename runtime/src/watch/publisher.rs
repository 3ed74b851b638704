//! The only writer of the catalog: adds loaded plugins and refreshed lists to it, removes plugins that are gone, and
//! reports what has changed.
//!
//! Loaded plugins come from the folder watcher, and new lists from the list refresher. Both wait for the next
//! [`Publisher::publish`], so that clients get one `list_changed` and not one per plugin; the folder watcher decides
//! when that is. Since nothing else writes the catalog, publishing needs no lock: the next snapshot is made from the
//! current one and replaces it. The publisher opens no file and calls no guest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::folder_scan::{ScanError, name_of};
use super::hide_unapproved::HiddenPlugins;
use super::list_refresh::ListRefresher;
use super::load_status::LoadStatus;
use super::rejected_file::{LoadFailure, RejectedFile, audit_load};
use crate::approval::{ApprovalPolicy, LockfileError};
use crate::catalog::{Catalog, Item as _, NameOwners, PluginEntry, PublishedResource, Snapshot};
use crate::config::{Config, ConfigError};
use crate::observe::{Audit, Escaped};
use crate::plugin::{Loader, PendingChanges, Plugin};

/// How long a plugin that is ready waits for others that are being loaded, to be published with them.
const GATHER: Duration = Duration::from_millis(100);

/// The same where publishing takes long.
const MAX_GATHER: Duration = Duration::from_secs(1);

/// A snapshot is made of all plugins, however few are new. So while a folder is loaded, publishing takes at most one in
/// this many parts of the time.
const PUBLISH_SHARE: u32 = 20;

/// Receives events for the operator.
pub type EventSink = Box<dyn Fn(FolderEvent<'_>) + Send + Sync>;

/// What happened in the folder.
#[derive(Debug)]
pub enum FolderEvent<'e> {
    /// A plugin is served now, or in another version, or under other names.
    Published(&'e Snapshot, &'e PluginEntry),
    /// A file cannot be served; a version that is served under its name goes on.
    Rejected(&'e RejectedFile),
    /// The file of this plugin is gone, and the plugin is no longer served.
    Removed(&'e str),
    /// The folder cannot be read, and everything stays as it was.
    Unreadable(&'e ScanError),
    /// How many files of the first poll have to be compiled.
    Compiling(usize),
    /// The initial load is complete.
    Loaded(&'e Snapshot),
    /// Everything is loaded again on request.
    Rescan,
    /// The configuration has changed.
    Reconfigured {
        /// The configuration that holds now.
        config: &'e Config,
        /// Whether a part of the change needs a restart.
        restart: bool,
    },
    /// The configuration has mistakes; the previous one holds.
    ConfigInvalid(&'e ConfigError),
    /// The lockfile cannot be read; the previous approvals hold.
    LockfileInvalid(&'e LockfileError),
    /// A plugin is no longer served: its grants, approval or signature were revoked, and its file cannot replace it.
    Withdrawn(&'e str),
}

/// Writes the catalog of one folder.
pub(super) struct Publisher {
    catalog: Arc<Catalog>,
    audit: Audit,
    status: Arc<LoadStatus>,
    events: EventSink,
    /// Where plugins are noted that have to be listed again.
    changes: Arc<PendingChanges>,
    /// Loaded and not yet published plugins, by name.
    ready: BTreeMap<String, ReadyPlugin>,
    /// New lists of served plugins, not yet published, by name.
    refreshed: BTreeMap<String, PluginEntry>,
    /// Plugins to remove with the next step, by name; `true`: because they were withdrawn.
    gone: BTreeMap<String, bool>,
    /// The digest and reason last reported for each file that cannot be served: each is reported once.
    reported: BTreeMap<PathBuf, (Option<String>, String)>,
    /// Who owns which names from the next step on; `None`: unchanged.
    owners: Option<Arc<NameOwners>>,
    /// Whether the initial load is complete.
    initial_load_done: bool,
    /// How long publishing took the last time.
    last_publish: Duration,
}

/// A plugin that waits for being published.
struct ReadyPlugin {
    entry: Arc<PluginEntry>,
    path: PathBuf,
}

impl Publisher {
    pub(super) fn new(
        catalog: Arc<Catalog>,
        loader: &Loader,
        status: Arc<LoadStatus>,
        events: EventSink,
    ) -> Self {
        let (audit, changes) = (loader.audit().clone(), Arc::clone(loader.changes()));
        let (ready, refreshed, gone, reported) = Default::default();
        let (owners, initial_load_done, last_publish) = (None, false, Duration::ZERO);
        Self {
            catalog,
            audit,
            status,
            events,
            changes,
            ready,
            refreshed,
            gone,
            reported,
            owners,
            initial_load_done,
            last_publish,
        }
    }

    /// Makes the list refresher of this catalog; it sends new lists to `lists`.
    pub(super) fn list_refresher(&self, lists: mpsc::Sender<PluginEntry>) -> ListRefresher {
        ListRefresher::new(Arc::clone(&self.changes), Arc::clone(&self.catalog), lists)
    }

    pub(super) fn emit(&self, event: FolderEvent<'_>) {
        (self.events)(event);
    }

    /// Takes the result of loading a file; a plugin is published with the next step.
    pub(super) fn add_result(&mut self, path: &Path, loaded: Result<PluginEntry, LoadFailure>) {
        if let Err(failure) = &loaded {
            let (name, LoadFailure { why, digest, .. }) = (name_of(path).ok(), failure);
            self.status.file_rejected(path, name.as_deref(), why, failure.pending_approval, digest.clone());
            if failure.ends_served {
                self.withdraw(path);
            }
            let reported = (failure.digest.clone(), failure.why.clone());
            if self.reported.insert(path.to_owned(), reported.clone()) == Some(reported) {
                return;
            }
        }
        match loaded {
            Ok(entry) => {
                self.reported.remove(path);
                self.status.served(path);
                self.gone.remove(entry.plugin.name());
                let (name, path) = (entry.plugin.name().to_owned(), path.to_owned());
                self.ready.insert(name, ReadyPlugin { entry: Arc::new(entry), path });
            }
            Err(failure) => {
                self.status.count_load(false);
                audit_load(&self.audit, path, Err(&failure));
                self.emit(FolderEvent::Rejected(&failure.at(path)));
            }
        }
    }

    /// Takes a new list of a served plugin; it is published with the next step, unless that step replaces or removes
    /// the plugin.
    pub(super) fn add_refreshed(&mut self, entry: PluginEntry) {
        self.refreshed.insert(entry.plugin.name().to_owned(), entry);
    }

    /// Notes that a file is what is served already, so an older load of it is not published.
    pub(super) fn unchanged(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.remove(&name);
        }
        self.status.served(path);
        self.reported.remove(path);
    }

    /// Whether this version is served now.
    pub(super) fn is_served(&self, plugin: &Arc<Plugin>) -> bool {
        let current = self.catalog.current();
        current.entry(plugin.name()).is_some_and(|entry| Arc::ptr_eq(&entry.plugin, plugin))
    }

    /// Notes that a plugin's file is gone; the plugin is removed with the next step.
    pub(super) fn remove(&mut self, path: &Path) {
        self.reported.remove(path);
        self.status.file_removed(path);
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.insert(name, false);
        }
    }

    /// Notes a new policy. Plugins that were loaded under the old one are discarded; they are loaded again.
    pub(super) fn policy_changed(&mut self, approval: &ApprovalPolicy) {
        self.status.set_approval_mode(approval.mode());
        self.ready.clear();
        self.gone.retain(|_, withdrawn| !*withdrawn);
    }

    /// Publishes at once a snapshot without unapproved plugins and items.
    pub(super) fn hide(&self, HiddenPlugins { next, gone }: HiddenPlugins) {
        self.replace(next);
        for entry in &gone {
            self.emit(FolderEvent::Withdrawn(entry.plugin.name()));
        }
    }

    /// Publishes a snapshot; versions that are no longer in it begin to drain.
    fn replace(&self, next: Snapshot) {
        let before = self.catalog.current();
        self.catalog.publish(next);
        let after = self.catalog.current();
        for uri in changed_files(&before, &after) {
            self.catalog.resource_updated(uri);
        }
        for old in before.entries() {
            let is_same = |now: &Arc<PluginEntry>| Arc::ptr_eq(&now.plugin, &old.plugin);
            if !after.entry(old.plugin.name()).is_some_and(is_same) {
                self.status.replaced(&old.plugin);
            }
        }
    }

    /// Notes that the served plugin of the file at `path` must not go on; it is removed with the next step.
    pub(super) fn withdraw(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.insert(name, true);
        }
    }

    /// Sets who owns which names from the next step on.
    pub(super) fn set_owners(&mut self, owners: NameOwners) {
        self.owners = Some(Arc::new(owners));
    }

    /// Whether the next step has anything to publish.
    pub(super) fn has_pending(&self) -> bool {
        !self.ready.is_empty() || !self.refreshed.is_empty() || !self.gone.is_empty() || self.owners.is_some()
    }

    /// How long a plugin that is ready waits for others that are being loaded.
    pub(super) fn gather_time(&self) -> Duration {
        gather_time(self.last_publish)
    }

    /// Publishes all that waits, and removes what is gone, in one step.
    pub(super) async fn publish(&mut self) {
        let begun = Instant::now();
        self.publish_all().await;
        self.last_publish = begun.elapsed();
    }

    async fn publish_all(&mut self) {
        let before = self.catalog.current();
        let refreshed = self.take_refreshed(&before);
        let ready = std::mem::take(&mut self.ready);
        let (mut removed, owners) = (std::mem::take(&mut self.gone), self.owners.take());
        removed.retain(|name, _| before.entry(name).is_some());
        let only_lists = ready.is_empty() && removed.is_empty() && owners.is_none();
        if only_lists && refreshed.is_empty() {
            return;
        }
        let names: Vec<String> = removed.keys().cloned().collect();
        let entries = ready.values().map(|ready| Arc::clone(&ready.entry)).chain(refreshed).collect();
        let next_owners = owners.clone().unwrap_or_else(|| Arc::clone(before.owners()));
        // With many plugins this takes a while, and a plugin can cause it again and again; other tasks should not wait
        // for it.
        let from = Arc::clone(&before);
        let making = tokio::task::spawn_blocking(move || from.changed(entries, &names, next_owners));
        let Ok(next) = making.await else {
            (self.ready, self.gone, self.owners) = (ready, removed, owners);
            return tracing::error!("the new snapshot could not be made; please report it");
        };
        self.replace(next);
        if only_lists {
            return;
        }
        let current = self.catalog.current();
        for ReadyPlugin { entry, path } in ready.values() {
            self.status.count_load(true);
            audit_load(&self.audit, path, Ok(entry));
            self.emit(FolderEvent::Published(&current, entry));
        }
        for (name, withdrawn) in &removed {
            self.emit(if *withdrawn { FolderEvent::Withdrawn(name) } else { FolderEvent::Removed(name) });
        }
        for entry in current.entries().iter().filter(|entry| !ready.contains_key(entry.plugin.name())) {
            if has_other_names(&before, &current, entry.plugin.name()) {
                self.emit(FolderEvent::Published(&current, entry));
            }
        }
    }

    /// The new lists that may be published: those of versions that are still served, checked against the current
    /// approvals.
    fn take_refreshed(&mut self, current: &Snapshot) -> Vec<Arc<PluginEntry>> {
        let mut lists = Vec::new();
        let replaced = |name: &str| self.ready.contains_key(name) || self.gone.contains_key(name);
        let refreshed = std::mem::take(&mut self.refreshed).into_iter();
        for (name, entry) in refreshed.filter(|(name, _)| !replaced(name)) {
            match current.entry(&name).filter(|known| Arc::ptr_eq(&known.plugin, &entry.plugin)) {
                None => {}
                Some(known) if known.approval != entry.approval => self.changes.list_changed(&name.into()),
                Some(known) => {
                    log_differences(known, &entry);
                    lists.push(Arc::new(entry));
                }
            }
        }
        lists
    }

    /// Whether the initial load is complete.
    pub(super) fn is_initial_load_done(&self) -> bool {
        self.initial_load_done
    }

    /// Ends the initial load.
    pub(super) fn finish_initial_load(&mut self) {
        self.initial_load_done = true;
        self.emit(FolderEvent::Loaded(&self.catalog.current()));
    }
}

fn gather_time(last_publish: Duration) -> Duration {
    last_publish.saturating_mul(PUBLISH_SHARE).clamp(GATHER, MAX_GATHER)
}

/// Logs rejected and unapproved items of a new list, if they differ from those of the known list.
fn log_differences(known: &PluginEntry, entry: &PluginEntry) {
    let plugin = entry.plugin.name();
    if let Some(first) = entry.rejected.first().filter(|_| entry.rejected != known.rejected) {
        let redactor = entry.plugin.redactor();
        let (count, item) = (entry.rejected.len(), Escaped(&redactor.text(&first.name)).to_string());
        let why = Escaped(&redactor.text(&first.why)).to_string();
        tracing::warn!(target: "plugin", plugin, count, item, why, "lists items that are rejected");
    }
    if entry.unapproved != known.unapproved {
        for warning in &entry.unapproved {
            tracing::warn!(target: "plugin", plugin, "{warning}");
        }
    }
}

/// The files in components that have other contents now, by URI.
fn changed_files<'s>(before: &'s Snapshot, after: &'s Snapshot) -> impl Iterator<Item = &'s str> {
    after.resources().items().iter().filter_map(|resource| {
        let digest = |resource: &'s PublishedResource| Some(&resource.file.as_ref()?.file.digest);
        let (now, known) = (digest(resource)?, before.resources().get(resource.key())?);
        digest(known).is_some_and(|known| known != now).then(|| resource.key())
    })
}

/// Whether a plugin gained or lost names because other plugins came or went.
fn has_other_names(before: &Snapshot, now: &Snapshot, plugin: &str) -> bool {
    let of = |snapshot: &Snapshot| snapshot.owners().withheld(plugin).map(ToOwned::to_owned);
    before.name_conflicts(plugin) != now.name_conflicts(plugin) || of(before) != of(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_publishing_takes_the_more_is_published_at_once() {
        let after = |millis| gather_time(Duration::from_millis(millis)).as_millis();
        assert_eq!((after(0), after(5), after(25), after(9_000)), (100, 100, 500, 1_000));
    }
}
