//! Puts loaded plugins into the catalog, and reports what has changed.
//!
//! Plugins that are found together are published together, so that a client hears of a list once and not of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder_scan::{ScanError, name_of};
use super::load_failure::{LoadFailure, RejectedFile, audit_load};
use super::load_status::LoadStatus;
use crate::approval::{ApprovalPolicy, LockfileError};
use crate::catalog::{Catalog, NameOwners, PluginEntry, Snapshot};
use crate::config::ConfigError;
use crate::observe::Audit;

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
    /// All that was there at the start has been looked into.
    Loaded(&'e Snapshot),
    /// Everything is looked at again, since somebody asked for it.
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
    /// Found and not yet published, by name.
    ready: BTreeMap<String, ReadyPlugin>,
    /// Gone and not yet taken away, and whether that is because it may not go on.
    gone: BTreeMap<String, bool>,
    /// What was told last of files that cannot be served: each is told once.
    reported: BTreeMap<PathBuf, (Option<String>, String)>,
    /// To whom names belong from the next step on, unless it is as it was.
    owners: Option<Arc<NameOwners>>,
    /// Whether all that was there at the start has been looked into.
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
        audit: Audit,
        status: Arc<LoadStatus>,
        events: EventSink,
    ) -> Self {
        let (ready, gone, reported) = Default::default();
        Self { catalog, audit, status, events, ready, gone, reported, owners: None, initial_load_done: false }
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

    /// A file is what is served already, so what was found in it meanwhile is not published.
    pub(super) fn unchanged(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.ready.remove(&name);
            self.gone.remove(&name);
        }
        self.status.served(path);
        self.reported.remove(path);
    }

    /// Whether the plugin in this file is served.
    pub(super) fn is_served(&self, path: &Path) -> bool {
        name_of(path).is_ok_and(|name| self.catalog.current().entry(&name).is_some())
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

    /// These are not in the catalog any more, since nobody has approved them.
    pub(super) fn report_hidden(&self, entries: &[Arc<PluginEntry>]) {
        for PluginEntry { plugin, .. } in entries.iter().map(|entry| &**entry) {
            self.status.replaced(plugin);
            self.emit(FolderEvent::Withdrawn(plugin.name()));
        }
    }

    /// Puts another snapshot in place; versions that are in it no more have their time to end.
    fn replace(&self, next: impl FnOnce(&Snapshot) -> Option<Snapshot>) {
        let mut before = None;
        self.catalog.update(|current| {
            before = Some(Arc::clone(current));
            next(current)
        });
        let after = self.catalog.current();
        for old in before.iter().flat_map(|before| before.entries()) {
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
        !self.ready.is_empty() || !self.gone.is_empty() || self.owners.is_some()
    }

    /// Publishes what was taken and takes away what is gone, in one step.
    pub(super) fn publish(&mut self) {
        let (ready, gone) = (std::mem::take(&mut self.ready), std::mem::take(&mut self.gone));
        let owners = self.owners.take();
        let before = self.catalog.current();
        let mut removed: Vec<(String, bool)> = Vec::new();
        self.replace(|current| {
            removed = gone.into_iter().filter(|(name, _)| current.entry(name).is_some()).collect();
            let names: Vec<String> = removed.iter().map(|(name, _)| name.clone()).collect();
            let entries: Vec<_> = ready.values().map(|ready| Arc::clone(&ready.entry)).collect();
            let changed = !(entries.is_empty() && removed.is_empty() && owners.is_none());
            let owners = owners.unwrap_or_else(|| Arc::clone(current.owners()));
            changed.then(|| current.changed(entries, &names, owners))
        });
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

    /// Whether all that was there at the start has been looked into.
    pub(super) fn is_initial_load_done(&self) -> bool {
        self.initial_load_done
    }

    /// All that was there at the start has been looked into.
    pub(super) fn finish_initial_load(&mut self) {
        self.initial_load_done = true;
        self.emit(FolderEvent::Loaded(&self.catalog.current()));
    }
}

/// Whether names went from or to a plugin, since others came or went.
fn has_other_names(before: &Snapshot, now: &Snapshot, plugin: &str) -> bool {
    let of = |snapshot: &Snapshot| snapshot.owners().held_back(plugin).map(ToOwned::to_owned);
    before.name_conflicts(plugin) != now.name_conflicts(plugin) || of(before) != of(now)
}
