//! What is offered right now.
//!
//! An immutable [`Snapshot`] behind an atomic pointer: a request takes the snapshot once and keeps what it took, a
//! publisher builds a new one beside it and swaps. No lock is held across a call, and no caller sees half a change.
//! Whoever serves clients hears of every change. Vets what plugins say of themselves; never calls a guest.

mod absent;
mod change;
mod disputes;
mod effort;
mod entry;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod list;
mod marks;
mod metered;
mod naming;
mod owners;
mod paging;
mod pins;
mod plain;
mod published;
mod schema;
mod snapshot;
mod start;
mod states;
mod template;
mod uri;
mod vetting;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, watch};

pub use change::{Change, Changes, Lists};
pub use entry::{Entry, Refused};
pub use headers::{HeaderError, ParamHeader, ParamKind};
pub use list::{Fingerprint, Item, Kind, List, Print};
pub use naming::{NameError, plugin_name, public_key};
pub use owners::{Claimant, Owners};
pub use paging::{BadCursor, Page};
pub use pins::{Approved, Descriptor, Descriptors, Difference, How, Lock, LockError, Pins, Subject, compare};
pub use published::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
pub use schema::{Mismatch, Schema, SchemaError};
pub use snapshot::Snapshot;
pub use start::Begun;

use start::Start;

/// Updates of resources that a listener may lag behind; one that lags further is told that it missed some.
const LAG: usize = 256;

/// The published snapshot.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    /// One publisher at a time, so that none undoes what another did.
    publishing: Mutex<()>,
    lists: watch::Sender<Lists>,
    updates: broadcast::Sender<Arc<str>>,
    start: Start,
    /// How the lists looked when clients got them first. None: nobody has got any, so there is no change to tell of.
    given: watch::Sender<Option<Lists>>,
}

impl Catalog {
    /// Starts with a first snapshot, which is complete.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        Self::with(first, Start::new(true))
    }

    /// Starts with nothing, while whoever fills it takes the first look.
    #[must_use]
    pub fn empty() -> Self {
        Self::with(Snapshot::new(Vec::new()), Start::new(false))
    }

    fn with(first: Snapshot, start: Start) -> Self {
        let now = Lists::of(&first);
        Self {
            current: ArcSwap::from_pointee(first),
            publishing: Mutex::default(),
            lists: watch::Sender::new(now),
            updates: broadcast::Sender::new(LAG),
            given: watch::Sender::new(start.is_over().then_some(now)),
            start,
        }
    }

    /// Whether all that was there at the start is offered, as far as it can be.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.start.is_over()
    }

    /// Whether the first look has come to what has to be compiled.
    pub(crate) fn is_compiling(&self) -> bool {
        self.start.is_compiling()
    }

    /// Tells how far the first look is; `None`: it is over.
    pub fn begun(&self, begun: Option<Begun>) {
        if begun.is_none() {
            self.give();
        }
        self.start.set(begun);
    }

    /// Clients get lists from now on, and hear of what changes in them.
    pub fn give(&self) {
        let now = self.lists();
        self.given.send_if_modified(|given| {
            let first = given.is_none();
            given.get_or_insert(now);
            first
        });
    }

    /// How far the first look is, and when that changes.
    #[must_use]
    pub fn start(&self) -> watch::Receiver<Option<Begun>> {
        self.start.watch()
    }

    /// When anything is published.
    #[must_use]
    pub fn lists_changed(&self) -> watch::Receiver<Lists> {
        self.lists.subscribe()
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
    pub fn update(&self, next: impl FnOnce(&Arc<Snapshot>) -> Option<Snapshot>) {
        let _publishing = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load_full();
        let Some(after) = next(&before) else { return };
        let lists = Lists::of(&after);
        self.current.store(Arc::new(after));
        self.lists.send_replace(lists);
    }

    /// Tells that a resource has new contents.
    pub fn updated(&self, uri: &str) {
        // Nobody listening is as good as everybody told.
        let _ = self.updates.send(uri.into());
    }

    /// How the lists look now.
    #[must_use]
    pub fn lists(&self) -> Lists {
        *self.lists.borrow()
    }

    /// How the lists look to someone who begins now; `None` while clients get none.
    #[must_use]
    pub fn told(&self) -> Option<Lists> {
        self.given.borrow().is_some().then(|| self.lists())
    }

    /// Every change from now on, or from when clients get lists.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.changes_since(self.told())
    }

    /// The same for someone to whom the lists looked like this.
    #[must_use]
    pub fn changes_since(&self, told: Option<Lists>) -> Changes {
        Changes::new(told, self.given.subscribe(), self.lists.subscribe(), self.updates.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn listeners_hear_of_updates_and_only_of_lists_that_differ() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        catalog.updated("n:before");
        let mut changes = catalog.changes();
        catalog.publish(Snapshot::new(Vec::new()));
        catalog.update(|_| None);
        catalog.updated("n:a");
        assert_eq!(changes.next().await, Some(Change::Updated("n:a".into())));
        let more = tokio::time::timeout(std::time::Duration::from_millis(20), changes.next()).await;
        assert!(more.is_err(), "{more:?}");
    }
}
