//! The catalog: what is published now.
//!
//! An immutable [`Snapshot`] behind an atomic pointer: a request reads one snapshot, and the publisher makes a new one
//! and swaps the pointer. No lock is held across a call, and no request sees half a change. The layer `mcp` receives
//! every change. Listings are validated here; no guest is called from here.

mod approval_check;
mod caller_view;
#[doc(hidden)]
pub mod fuzzing;
mod guest_apps;
mod initial_load_progress;
mod item_list;
mod items;
mod legacy_revision_schema;
mod list_changes;
mod name_conflicts;
mod name_owners;
mod page_cache;
mod pagination;
mod param_headers;
mod plugin_entry;
mod published_name;
mod remove_null_arguments;
mod schema;
mod shipped;
mod snapshot;
mod task_result_tool;
mod task_support;
mod tool_app;
mod uri;
mod uri_template;
mod validation;
mod visibility;

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, watch};

pub use caller_view::CallerView;
pub(crate) use caller_view::hints;
pub use initial_load_progress::LoadProgress;
pub use item_list::{Item, ItemDigest, ItemHasher, ItemList};
pub use items::{PublishedFile, PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
#[cfg(test)]
pub(crate) use list_changes::tests::SeesOnly;
pub use list_changes::{CatalogChange, ChangeReceiver, ListDigests, ListenerView};
pub use name_owners::{Claimant, NameOwners};
pub(crate) use page_cache::{MAX_PAGE_BYTES, PageKey};
pub use pagination::{InvalidCursor, Page};
pub use param_headers::{ParamHeader, ParamHeaderError, ParamKind};
pub use plugin_entry::{PluginEntry, RejectedItem};
pub use published_name::{NameError, plugin_name, published_key};
pub use schema::{Schema, SchemaError, SchemaMismatch};
pub use snapshot::Snapshot;
pub use task_support::TaskSupport;

use crate::access::policy::{Policy, Subject};
use initial_load_progress::InitialLoad;
use visibility::Visibility;

/// Updates of resources that a receiver may lag behind. A receiver that lags further gets [`CatalogChange::Lost`].
const MAX_LAG: usize = 256;

/// The published snapshot.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    lists: watch::Sender<ListDigests>,
    updates: broadcast::Sender<Arc<str>>,
    initial_load: InitialLoad,
    /// The lists when clients could first get them. `None`: no client has lists yet, so there is no change to send.
    released: watch::Sender<Option<ListDigests>>,
    visibility: Visibility,
}

impl Catalog {
    /// Starts with a first snapshot, which is complete.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        Self::with(first, InitialLoad::new(true))
    }

    /// Starts with nothing, while the first load of the folder is under way.
    #[must_use]
    pub fn empty() -> Self {
        Self::with(Snapshot::new(Vec::new()), InitialLoad::new(false))
    }

    fn with(first: Snapshot, initial_load: InitialLoad) -> Self {
        let now = first.list_digests();
        Self {
            current: ArcSwap::from_pointee(first),
            lists: watch::Sender::new(now),
            updates: broadcast::Sender::new(MAX_LAG),
            released: watch::Sender::new(initial_load.is_over().then_some(now)),
            initial_load,
            visibility: Visibility::default(),
        }
    }

    /// Whether the first load has ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.initial_load.is_over()
    }

    /// Whether the first load has come to files that have to be compiled.
    pub(crate) fn is_compiling(&self) -> bool {
        self.initial_load.is_compiling()
    }

    /// Sets the progress of the first load; `None`: it has ended.
    pub fn set_load_progress(&self, progress: Option<LoadProgress>) {
        if progress.is_none() {
            self.release_lists();
        }
        self.initial_load.set(progress);
    }

    /// From now on clients get lists, and notifications when they change.
    pub fn release_lists(&self) {
        let now = self.lists();
        self.released.send_if_modified(|released| {
            let first = released.is_none();
            released.get_or_insert(now);
            first
        });
    }

    /// Watches the progress of the first load. It can be read at any time, and a change is notified only when files
    /// have to be compiled and at the end.
    #[must_use]
    pub fn load_progress(&self) -> watch::Receiver<Option<LoadProgress>> {
        self.initial_load.watch()
    }

    /// Watches the lists of the published snapshot.
    #[must_use]
    pub fn lists_changed(&self) -> watch::Receiver<ListDigests> {
        self.lists.subscribe()
    }

    /// The published snapshot.
    #[must_use]
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The published snapshot as a caller sees it, with the policy and the caller's roles; `None` instead of the view:
    /// everybody sees everything.
    #[must_use]
    pub fn current_for(&self, subject: &Subject<'_>) -> (Arc<Snapshot>, Option<CallerView>) {
        self.visibility.view(|| self.current(), subject)
    }

    /// The policy of now; `None`: every caller may use everything.
    #[must_use]
    pub fn policy(&self) -> Option<Arc<Policy>> {
        self.visibility.policy()
    }

    /// Whether callers may differ in what they see or may use.
    #[must_use]
    pub fn has_policy(&self) -> bool {
        self.visibility.has_policy()
    }

    /// Whether callers have roles.
    #[must_use]
    pub fn has_roles(&self) -> bool {
        self.visibility.has_roles()
    }

    /// Replaces the policy, and notifies receivers whose view has changed.
    pub fn set_policy(&self, policy: Arc<Policy>) {
        if self.visibility.replace(policy) {
            // Each receiver compares what it sees.
            self.lists.send_modify(|_| {});
        }
    }

    /// Replaces the snapshot, and notifies receivers of lists that look different to clients. A snapshot is made from
    /// the current one, so there must be one writer only: in a server the publisher of `watch`.
    pub fn publish(&self, next: Snapshot) {
        let lists = next.list_digests();
        self.current.store(Arc::new(next));
        self.visibility.forget_views();
        self.lists.send_replace(lists);
    }

    /// Notifies receivers that a resource has new contents.
    pub fn resource_updated(&self, uri: &str) {
        // Sending fails only when there is no receiver.
        let _ = self.updates.send(uri.into());
    }

    /// The digests of the lists now.
    #[must_use]
    pub fn lists(&self) -> ListDigests {
        *self.lists.borrow()
    }

    /// The digests of the lists now; `None` while clients get none.
    #[must_use]
    pub fn released_lists(&self) -> Option<ListDigests> {
        self.released.borrow().is_some().then(|| self.lists())
    }

    /// A receiver of every change from now on, or from when clients get lists.
    #[must_use]
    pub fn changes(&self) -> ChangeReceiver {
        self.changes_since(self.released_lists())
    }

    /// A receiver for a client that knows these lists.
    #[must_use]
    pub fn changes_since(&self, known: Option<ListDigests>) -> ChangeReceiver {
        ChangeReceiver::new(
            known,
            self.released.subscribe(),
            self.lists.subscribe(),
            self.updates.subscribe(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn listeners_hear_of_updates_and_only_of_lists_that_differ() {
        let catalog = Catalog::new(Snapshot::new(Vec::new()));
        catalog.resource_updated("n:before");
        let mut changes = catalog.changes();
        catalog.publish(Snapshot::new(Vec::new()));
        catalog.resource_updated("n:a");
        assert_eq!(changes.next().await, Some(CatalogChange::Updated("n:a".into())));
        let more = tokio::time::timeout(std::time::Duration::from_millis(20), changes.next()).await;
        assert!(more.is_err(), "{more:?}");
    }
}
