//! What is offered right now.
//!
//! An immutable [`Snapshot`] behind an atomic pointer: a request takes the snapshot once and keeps what it took, a
//! publisher builds a new one beside it and swaps. No lock is held across a call, and no caller sees half a change.
//! Whoever serves clients hears of every change. Vets what plugins say of themselves; never calls a guest.

mod change;
mod effort;
mod entry;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod list;
mod naming;
mod paging;
mod pins;
mod plain;
mod published;
mod schema;
mod snapshot;
mod template;
mod uri;
mod vetting;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::broadcast;

pub use change::Change;
pub use entry::{Entry, Refused};
pub use headers::{HeaderError, ParamHeader, ParamKind};
pub use list::{Fingerprint, Item, Kind, List};
pub use naming::{NameError, plugin_name};
pub use paging::{BadCursor, Page};
pub use pins::{Approved, Descriptor, Descriptors, Difference, How, Lock, LockError, Pins, Subject, compare};
pub use published::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
pub use schema::{Mismatch, Schema, SchemaError};
pub use snapshot::Snapshot;

/// Changes that a listener may lag behind; one that lags further is told that it missed some.
const LAG: usize = 256;

/// The published snapshot.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// One publisher at a time, so that none undoes what another did.
    publishing: Mutex<()>,
    changes: broadcast::Sender<Change>,
}

impl Catalog {
    /// Starts with a first snapshot.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        let changes = broadcast::Sender::new(LAG);
        Self { current: ArcSwap::from_pointee(first), publishing: Mutex::default(), changes }
    }

    /// What is offered now.
    #[must_use]
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Puts a new snapshot in place of the current one and tells of what looks different to clients.
    pub fn publish(&self, next: Snapshot) {
        self.update(|_| Some(next));
    }

    /// The same with a snapshot that is made from the current one. With `None` everything stays.
    pub fn update(&self, next: impl FnOnce(&Snapshot) -> Option<Snapshot>) {
        let _publishing = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load_full();
        let Some(after) = next(&before).map(Arc::new) else { return };
        self.current.store(Arc::clone(&after));
        for change in Change::between(&before, &after) {
            self.tell(change);
        }
    }

    /// Tells that a resource has new contents.
    pub fn updated(&self, uri: &str) {
        self.tell(Change::Updated(uri.into()));
    }

    /// Every change from now on.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Nobody listening is as good as everybody told.
    fn tell(&self, change: Change) {
        let _ = self.changes.send(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_hear_of_updates_and_only_of_lists_that_differ() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        catalog.updated("n:before");
        let mut changes = catalog.changes();
        catalog.publish(Snapshot::new(Vec::new()));
        catalog.update(|_| None);
        catalog.updated("n:a");
        assert_eq!(changes.try_recv().ok(), Some(Change::Updated("n:a".into())));
        assert!(changes.try_recv().is_err());
    }
}
