//! Puts what was found into the catalog, and tells of it.
//!
//! Plugins that are found together are published together, so that a client hears of a list once and not of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::refusal::{Refusal, Skipped, note};
use super::scan::{ScanError, name_of};
use super::standing::Standing;
use crate::catalog::{Catalog, Entry, LockError, Owners, Pins, Snapshot};
use crate::config::ConfigError;
use crate::observe::Audit;

/// Tells the operator what happened.
pub type Say = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// What happened in the folder.
#[derive(Debug)]
pub enum Event<'e> {
    /// A plugin is served now, or another version of it, or under other names.
    Published(&'e Snapshot, &'e Entry),
    /// A file cannot be served; what was served under its name still is.
    Refused(&'e Skipped),
    /// The file of this plugin is gone, and so is the plugin.
    Removed(&'e str),
    /// The folder cannot be read, and everything stays as it is.
    Unreadable(&'e ScanError),
    /// So many of the files that were there at the start have to be compiled.
    Compiling(usize),
    /// All that was there at the start has been looked into.
    Loaded(&'e Snapshot),
    /// Everything is looked at again, since somebody asked for it.
    Again,
    /// The configuration has changed; `restart`: a part of that holds from the next start on.
    Reconfigured {
        /// Whether there is such a part.
        restart: bool,
    },
    /// The configuration has mistakes; what it said before holds.
    Misconfigured(&'e ConfigError),
    /// What was approved cannot be read; what was approved before is.
    Mislocked(&'e LockError),
    /// A plugin may not go on as it was, and its file cannot take its place.
    Withdrawn(&'e str),
}

/// The catalog, as the folder fills it.
pub(super) struct Shelf {
    catalog: Arc<Catalog>,
    audit: Audit,
    standing: Arc<Standing>,
    say: Say,
    /// Found and not yet published, by name.
    fresh: BTreeMap<String, Fresh>,
    /// Gone and not yet taken away, and whether that is because it may not go on.
    gone: BTreeMap<String, bool>,
    /// What was told last of files that cannot be served: each is told once.
    told: BTreeMap<PathBuf, (Option<String>, String)>,
    /// To whom names belong from the next step on, unless it is as it was.
    owners: Option<Arc<Owners>>,
    /// Whether all that was there at the start has been looked into.
    loaded: bool,
}

/// A plugin that is ready.
struct Fresh {
    entry: Arc<Entry>,
    path: PathBuf,
}

impl Shelf {
    pub(super) fn new(catalog: Arc<Catalog>, audit: Audit, standing: Arc<Standing>, say: Say) -> Self {
        let (fresh, gone, told) = Default::default();
        Self { catalog, audit, standing, say, fresh, gone, told, owners: None, loaded: false }
    }

    pub(super) fn say(&self, event: Event<'_>) {
        (self.say)(event);
    }

    /// Takes what was found in a file; a plugin is published with the next ones.
    pub(super) fn take(&mut self, path: &Path, found: Result<Entry, Refusal>) {
        if let Err(refusal) = &found {
            let (name, Refusal { why, digest, .. }) = (name_of(path).ok(), refusal);
            self.standing.refused(path, name.as_deref(), why, refusal.held, digest.clone());
            if refusal.ends {
                self.withdraw(path);
            }
            let told = (refusal.digest.clone(), refusal.why.clone());
            if self.told.insert(path.to_owned(), told.clone()) == Some(told) {
                return;
            }
        }
        match found {
            Ok(entry) => {
                self.told.remove(path);
                self.standing.served(path);
                self.gone.remove(entry.plugin.name());
                let (name, path) = (entry.plugin.name().to_owned(), path.to_owned());
                self.fresh.insert(name, Fresh { entry: Arc::new(entry), path });
            }
            Err(refusal) => {
                note(&self.audit, path, Err(&refusal));
                self.say(Event::Refused(&refusal.at(path)));
            }
        }
    }

    /// A file is what is served already, so what was found in it meanwhile is not published.
    pub(super) fn same(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.fresh.remove(&name);
            self.gone.remove(&name);
        }
        self.standing.served(path);
        self.told.remove(path);
    }

    /// Whether the plugin in this file is served.
    pub(super) fn has(&self, path: &Path) -> bool {
        name_of(path).is_ok_and(|name| self.catalog.current().entry(&name).is_some())
    }

    /// The file of a plugin is gone; so is the plugin, with the next step.
    pub(super) fn remove(&mut self, path: &Path) {
        self.told.remove(path);
        self.standing.gone(path);
        if let Ok(name) = name_of(path) {
            self.fresh.remove(&name);
            self.gone.insert(name, false);
        }
    }

    /// Other terms hold from now on. What was found under those before is looked into again.
    pub(super) fn judged_anew(&mut self, pins: &Pins) {
        self.standing.judged(pins.mode());
        self.fresh.clear();
        self.gone.retain(|_, withdrawn| !*withdrawn);
    }

    /// These are not in the catalog any more, since nobody has approved them.
    pub(super) fn hidden(&self, entries: &[Arc<Entry>]) {
        for Entry { plugin, .. } in entries.iter().map(|entry| &**entry) {
            self.standing.replaced(plugin);
            self.say(Event::Withdrawn(plugin.name()));
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
            let kept = |now: &Arc<Entry>| Arc::ptr_eq(&now.plugin, &old.plugin);
            if !after.entry(old.plugin.name()).is_some_and(kept) {
                self.standing.replaced(&old.plugin);
            }
        }
    }

    /// What is served instead of what lies at `path` may not go on; it ends with the next step.
    pub(super) fn withdraw(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.fresh.remove(&name);
            self.gone.insert(name, true);
        }
    }

    /// To whom names belong has changed; it holds with the next step.
    pub(super) fn belong(&mut self, owners: Owners) {
        self.owners = Some(Arc::new(owners));
    }

    /// Whether something waits for being published.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty() || !self.gone.is_empty() || self.owners.is_some()
    }

    /// Publishes what was taken and takes away what is gone, in one step.
    pub(super) fn publish(&mut self) {
        let (fresh, gone) = (std::mem::take(&mut self.fresh), std::mem::take(&mut self.gone));
        let owners = self.owners.take();
        let before = self.catalog.current();
        let mut removed: Vec<(String, bool)> = Vec::new();
        self.replace(|current| {
            removed = gone.into_iter().filter(|(name, _)| current.entry(name).is_some()).collect();
            let names: Vec<String> = removed.iter().map(|(name, _)| name.clone()).collect();
            let entries: Vec<_> = fresh.values().map(|fresh| Arc::clone(&fresh.entry)).collect();
            let changed = !(entries.is_empty() && removed.is_empty() && owners.is_none());
            let owners = owners.unwrap_or_else(|| Arc::clone(current.owners()));
            changed.then(|| current.changed(entries, &names, owners))
        });
        let current = self.catalog.current();
        for Fresh { entry, path } in fresh.values() {
            note(&self.audit, path, Ok(entry));
            self.say(Event::Published(&current, entry));
        }
        for (name, withdrawn) in &removed {
            self.say(if *withdrawn { Event::Withdrawn(name) } else { Event::Removed(name) });
        }
        for entry in current.entries().iter().filter(|entry| !fresh.contains_key(entry.plugin.name())) {
            if has_other_names(&before, &current, entry.plugin.name()) {
                self.say(Event::Published(&current, entry));
            }
        }
    }

    /// Whether all that was there at the start has been looked into.
    pub(super) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// All that was there at the start has been looked into.
    pub(super) fn loaded(&mut self) {
        self.loaded = true;
        self.say(Event::Loaded(&self.catalog.current()));
    }
}

/// Whether names went from or to a plugin, since others came or went.
fn has_other_names(before: &Snapshot, now: &Snapshot, plugin: &str) -> bool {
    let of = |snapshot: &Snapshot| snapshot.owners().held_back(plugin).map(ToOwned::to_owned);
    before.disputed(plugin) != now.disputed(plugin) || of(before) != of(now)
}
