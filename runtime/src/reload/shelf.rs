//! Puts what was found into the catalog, and tells of it.
//!
//! Plugins that are found together are published together, so that a client hears of a list once and not of each.

use std::path::Path;
use std::sync::Arc;

use super::refusal::{Refusal, Skipped, note};
use super::scan::{Candidate, ScanError};
use crate::catalog::{Catalog, Entry, Snapshot};
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
}

/// The catalog, as the folder fills it.
pub(super) struct Shelf {
    catalog: Arc<Catalog>,
    audit: Audit,
    say: Say,
    /// Found and not yet published.
    fresh: Vec<Arc<Entry>>,
    /// Whether all that was there at the start has been looked into; until then names go by order and not by who was first.
    loaded: bool,
}

impl Shelf {
    pub(super) fn new(catalog: Arc<Catalog>, audit: Audit, say: Say) -> Self {
        Self { catalog, audit, say, fresh: Vec::new(), loaded: false }
    }

    pub(super) fn say(&self, event: Event<'_>) {
        (self.say)(event);
    }

    /// Takes what was found in a file; a plugin is published with the next ones.
    pub(super) fn take(&mut self, path: &Path, found: Result<Entry, Refusal>) {
        note(&self.audit, path, &found);
        match found {
            Ok(entry) => self.fresh.push(Arc::new(entry)),
            Err(refusal) => self.say(Event::Refused(&refusal.at(path))),
        }
    }

    /// Whether something waits for being published.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Publishes what was taken, in one step.
    pub(super) fn publish(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        if fresh.is_empty() {
            return;
        }
        self.catalog.update(|current| {
            let fresh = fresh.clone();
            Some(if self.loaded { current.with(fresh) } else { current.with_anew(fresh) })
        });
        let current = self.catalog.current();
        for entry in &fresh {
            self.say(Event::Published(&current, entry));
        }
    }

    /// All that was there at the start has been looked into. Only the first time counts.
    pub(super) fn loaded(&mut self) {
        if !std::mem::replace(&mut self.loaded, true) {
            self.say(Event::Loaded(&self.catalog.current()));
        }
    }

    /// The file of a plugin is gone.
    pub(super) fn remove(&mut self, path: &Path) {
        let Candidate { name: Ok(name), .. } = Candidate::at(path.to_owned()) else { return };
        let mut removed = false;
        self.catalog.update(|current| {
            removed = current.entry(&name).is_some();
            removed.then(|| current.without(&name))
        });
        if removed {
            self.say(Event::Removed(&name));
        }
    }
}
