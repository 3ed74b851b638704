//! The only writer of the catalog: puts loaded plugins and refreshed lists into it, takes away what is gone, and
//! reports what has changed.
//!
//! Everything that is to be published comes here as a message, from the loader or from the list refresher, and waits
//! for the next step, so that a client hears of a list once and not of each plugin; the folder watcher alone says when
//! that is. Since nobody else writes, a step needs no lock: it is made from the snapshot that is current and takes its
//! place. No file is opened here, and no guest is called.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::folder_scan::{ScanError, name_of};
use super::hide_unapproved::HiddenPlugins;
use super::list_refresh::ListRefresher;
use super::load_failure::{LoadFailure, RejectedFile, audit_load};
use super::load_status::LoadStatus;
use crate::approval::{ApprovalPolicy, LockfileError};
use crate::catalog::{Catalog, NameOwners, PluginEntry, Snapshot};
use crate::config::ConfigError;
use crate::observe::{Audit, Escaped};
use crate::plugin::{Loader, PendingChanges, Plugin};

/// Tells the operator what happened.
pub type EventSink = Box<dyn Fn(FolderEvent<'_>) + Send + Sync>;

/// What happened in the folder.
#[derive(Debug)]
pub enum FolderEvent<'e> {
    /// A plugin is served now, or another version of it, or under other names.
    Published(&'e Snapshot, &'e PluginEntry),
    /// A file cannot be served; what was served under its name still is.
    Rejected(&'e RejectedFile),
    /// The file of this plugin is gone, and so is the plugin.
    Removed(&'e str),
    /// The folder cannot be read, and everything stays as it is.
    Unreadable(&'e ScanError),
    /// So many of the files that were there at the start have to be compiled.
    Compiling(usize),
    /// The initial load is complete.
    Loaded(&'e Snapshot),
    /// Everything is loaded again, since somebody asked for it.
    Rescan,
    /// The configuration has changed; `restart`: a part of that holds from the next start on.
    Reconfigured {
        /// Whether there is such a part.
        restart: bool,
    },
    /// The configuration has mistakes; what it said before holds.
    ConfigInvalid(&'e ConfigError),
    /// What was approved cannot be read; what was approved before is.
    LockfileInvalid(&'e LockfileError),
    /// A plugin may not go on as it was, and its file cannot take its place.
    Withdrawn(&'e str),
}

/// The catalog, as the folder fills it.
pub(super) struct Publisher {
    catalog: Arc<Catalog>,
    audit: Audit,
    status: Arc<LoadStatus>,
    events: EventSink,
    /// Where a plugin is said to have to be listed again.
    changes: Arc<PendingChanges>,
    /// Found and not yet published, by name.
    ready: BTreeMap<String, ReadyPlugin>,
    /// New lists of plugins that are served, by name.
    refreshed: BTreeMap<String, PluginEntry>,
    /// Gone and not yet taken away, and whether that is because it may not go on.
    gone: BTreeMap<String, bool>,
    /// What was told last of files that cannot be served: each is told once.
    reported: BTreeMap<PathBuf, (Option<String>, String)>,
    /// To whom names belong from the next step on, unless it is as it was.
    owners: Option<Arc<NameOwners>>,
    /// Whether the initial load is complete.
    initial_load_done: bool,
}

/// A plugin that is ready.
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
        let (owners, initial_load_done) = (None, false);
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
        }
    }

    /// Lists the plugins of its catalog again, and sends the lists to where whoever follows the folder takes them.
    pub(super) fn list_refresher(&self, lists: mpsc::Sender<PluginEntry>) -> ListRefresher {
        ListRefresher::new(Arc::clone(&self.changes), Arc::clone(&self.catalog), lists)
    }

    pub(super) fn emit(&self, event: FolderEvent<'_>) {
        (self.events)(event);
    }

    /// Takes what was found in a file; a plugin is published with the next ones.
    pub(super) fn add_result(&mut self, path: &Path, found: Result<PluginEntry, LoadFailure>) {
        if let Err(failure) = &found {
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
        match found {
            Ok(entry) => {
                self.reported.remove(path);
                self.status.served(path);
                self.gone.remove(entry.plugin.name());
                let (name, path) = (entry.plugin.name().to_owned(), path.to_owned());
                self.ready.insert(name, ReadyPlugin { entry: Arc::new(entry), path });
            }
            Err(failure) => {
                audit_load(&self.audit, path, Err(&failure));
                self.emit(FolderEvent::Rejected(&failure.at(path)));
            }
        }
    }

    /// Takes what a plugin that is served lists now; it is published with the next step, unless that step replaces or
    /// removes the plugin.
    pub(super) fn add_refreshed(&mut self, entry: PluginEntry) {
        self.refreshed.insert(entry.plugin.name().to_owned(), entry);
    }

    /// A file is what is served already, so what was found in it meanwhile is not published.
    pub(super) fn unchanged(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.remove(&name);
        }
        self.status.served(path);
        self.reported.remove(path);
    }

    /// Whether this very version is served.
    pub(super) fn is_served(&self, plugin: &Arc<Plugin>) -> bool {
        let current = self.catalog.current();
        current.entry(plugin.name()).is_some_and(|entry| Arc::ptr_eq(&entry.plugin, plugin))
    }

    /// The file of a plugin is gone; so is the plugin, with the next step.
    pub(super) fn remove(&mut self, path: &Path) {
        self.reported.remove(path);
        self.status.gone(path);
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.insert(name, false);
        }
    }

    /// Another policy holds from now on. What was loaded under the one before is loaded again.
    pub(super) fn policy_changed(&mut self, approval: &ApprovalPolicy) {
        self.status.set_approval_mode(approval.mode());
        self.ready.clear();
        self.gone.retain(|_, withdrawn| !*withdrawn);
    }

    /// Hides at once what nobody has approved.
    pub(super) fn hide(&self, HiddenPlugins { next, gone }: HiddenPlugins) {
        self.replace(next);
        for entry in &gone {
            self.emit(FolderEvent::Withdrawn(entry.plugin.name()));
        }
    }

    /// Puts another snapshot in place; versions that are in it no more have their time to end.
    fn replace(&self, next: Snapshot) {
        let before = self.catalog.current();
        self.catalog.publish(next);
        let after = self.catalog.current();
        for old in before.entries() {
            let kept = |now: &Arc<PluginEntry>| Arc::ptr_eq(&now.plugin, &old.plugin);
            if !after.entry(old.plugin.name()).is_some_and(kept) {
                self.status.replaced(&old.plugin);
            }
        }
    }

    /// What is served instead of what lies at `path` may not go on; it ends with the next step.
    pub(super) fn withdraw(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.insert(name, true);
        }
    }

    /// To whom names belong has changed; it holds with the next step.
    pub(super) fn set_owners(&mut self, owners: NameOwners) {
        self.owners = Some(Arc::new(owners));
    }

    /// Whether something waits for being published.
    pub(super) fn has_pending(&self) -> bool {
        !self.ready.is_empty() || !self.refreshed.is_empty() || !self.gone.is_empty() || self.owners.is_some()
    }

    /// Publishes what was taken and takes away what is gone, in one step.
    pub(super) async fn publish(&mut self) {
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
        // With many plugins it takes a while, and a plugin can have it done again and again; other tasks should not
        // wait for it.
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

    /// The new lists that hold: those of versions that are served still, checked against the approvals that hold now.
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

    /// The initial load is complete.
    pub(super) fn finish_initial_load(&mut self) {
        self.initial_load_done = true;
        self.emit(FolderEvent::Loaded(&self.catalog.current()));
    }
}

/// Says what a new list has that cannot be published, or was not approved, if that is not what was said before.
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

/// Whether names went from or to a plugin, since others came or went.
fn has_other_names(before: &Snapshot, now: &Snapshot, plugin: &str) -> bool {
    let of = |snapshot: &Snapshot| snapshot.owners().withheld(plugin).map(ToOwned::to_owned);
    before.name_conflicts(plugin) != now.name_conflicts(plugin) || of(before) != of(now)
}
