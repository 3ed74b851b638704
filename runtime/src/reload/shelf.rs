//! Puts what was found into the catalog, and tells of it.
//!
//! Plugins that are found together are published together, so that a client hears of a list once and not of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::refusal::{Refusal, Skipped, note};
use super::scan::{ScanError, name_of};
use super::standing::Standing;
use crate::catalog::{Catalog, Entry, LockError, Pins, Snapshot};
use crate::config::ConfigError;
use crate::observe::Audit;

/// Tells the operator what happened.
pub type Say = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// What happened in the folder.
#[derive(Debug)]
pub enum Event<'e> {
    /// A plugin is served now, or another version of it.
    Published(&'e Snapshot, &'e Entry),
    /// A file cannot be served; what was served under its name still is.
    Refused(&'e Skipped),
    /// The file of this plugin is gone, and so is the plugin.
    Removed(&'e str),
    /// The folder cannot be read, and everything stays as it is.
    Unreadable(&'e ScanError),
    /// All that was there at the start has been looked into.
    Loaded(&'e Snapshot),
    /// The configuration has changed; `restart`: a part of that holds from the next start on.
    Reconfigured {
        /// Whether there is such a part.
        restart: bool,
    },
    /// The configuration has mistakes; what it said before holds.
    Misconfigured(&'e ConfigError),
    /// What was approved cannot be read; what was approved before is.
    Mislocked(&'e LockError),
    /// A plugin is not approved any more.
    Withdrawn(&'e str),
}

/// The catalog, as the folder fills it.
pub(super) struct Shelf {
    catalog: Arc<Catalog>,
    audit: Audit,
    standing: Arc<Standing>,
    say: Say,
    /// Found and not yet published, by name.
    fresh: BTreeMap<String, Arc<Entry>>,
    /// Gone and not yet taken away.
    gone: BTreeSet<String>,
    /// What was told last of files that cannot be served: each is told once.
    told: BTreeMap<PathBuf, (Option<String>, String)>,
    /// Whether all that was there at the start has been looked into; until then names go by order and not by who was first.
    loaded: bool,
}

impl Shelf {
    pub(super) fn new(catalog: Arc<Catalog>, audit: Audit, standing: Arc<Standing>, say: Say) -> Self {
        let (fresh, gone, told) = Default::default();
        Self { catalog, audit, standing, say, fresh, gone, told, loaded: false }
    }

    pub(super) fn say(&self, event: Event<'_>) {
        (self.say)(event);
    }

    /// Takes what was found in a file; a plugin is published with the next ones.
    pub(super) fn take(&mut self, path: &Path, found: Result<Entry, Refusal>) {
        if let Err(refusal) = &found {
            let (name, Refusal { why, digest, .. }) = (name_of(path).ok(), refusal);
            self.standing.refused(path, name.as_deref(), why, refusal.held, digest.clone());
            let told = (refusal.digest.clone(), refusal.why.clone());
            if self.told.insert(path.to_owned(), told.clone()) == Some(told) {
                return;
            }
        }
        note(&self.audit, path, &found);
        match found {
            Ok(entry) => {
                self.told.remove(path);
                self.standing.served(path);
                self.gone.remove(entry.plugin.name());
                self.fresh.insert(entry.plugin.name().to_owned(), Arc::new(entry));
            }
            Err(refusal) => self.say(Event::Refused(&refusal.at(path))),
        }
    }

    /// A file is what is served already, so what was found in it meanwhile is not published.
    pub(super) fn same(&mut self, path: &Path) {
        if let Ok(name) = name_of(path) {
            self.fresh.remove(&name);
        }
        self.standing.served(path);
        self.told.remove(path);
    }

    /// The file of a plugin is gone; so is the plugin, with the next step.
    pub(super) fn remove(&mut self, path: &Path) {
        self.told.remove(path);
        self.standing.gone(path);
        if let Ok(name) = name_of(path) {
            self.fresh.remove(&name);
            self.gone.insert(name);
        }
    }

    /// Takes away what may not be served any more by what is approved now.
    pub(super) fn judge(&mut self, pins: &Pins) {
        self.standing.judged(pins.mode());
        let unapproved = |entry: &Arc<Entry>| {
            let plugin = &entry.plugin;
            pins.before(plugin.name(), plugin.digest(), &plugin.config().grants).is_err()
        };
        self.fresh.retain(|_, entry| !unapproved(entry));
        let mut withdrawn = Vec::new();
        self.replace(|current| {
            let entries = current.entries().iter().filter(|entry| unapproved(entry));
            withdrawn = entries.map(|entry| entry.plugin.name().to_owned()).collect();
            (!withdrawn.is_empty()).then(|| current.changed(Vec::new(), &withdrawn, false))
        });
        withdrawn.iter().for_each(|name| self.say(Event::Withdrawn(name)));
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

    /// Whether something waits for being published.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty() || !self.gone.is_empty()
    }

    /// Publishes what was taken and takes away what is gone, in one step.
    pub(super) fn publish(&mut self) {
        let (fresh, gone) = (std::mem::take(&mut self.fresh), std::mem::take(&mut self.gone));
        let mut removed = Vec::new();
        self.replace(|current| {
            removed = gone.into_iter().filter(|name| current.entry(name).is_some()).collect();
            let fresh: Vec<_> = fresh.values().cloned().collect();
            let changed = !(fresh.is_empty() && removed.is_empty());
            changed.then(|| current.changed(fresh, &removed, !self.loaded))
        });
        let current = self.catalog.current();
        for entry in fresh.values() {
            self.say(Event::Published(&current, entry));
        }
        for name in &removed {
            self.say(Event::Removed(name));
        }
    }

    /// All that was there at the start has been looked into. Only the first time counts.
    pub(super) fn loaded(&mut self) {
        if !std::mem::replace(&mut self.loaded, true) {
            self.say(Event::Loaded(&self.catalog.current()));
        }
    }
}
