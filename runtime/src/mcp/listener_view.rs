//! What the caller of a stream sees, for the notifications of that stream.
//!
//! The view is looked up for each notification, because roles, the policy and the token of a session change while a
//! stream is open.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::call_env::Caller;
use crate::catalog::{CallerView, Catalog, ListDigests, ListenerView, Snapshot};

/// The caller that hears the notifications of a stream. A session outlives tokens, so a later connection replaces the
/// caller: the same principal may come with a token of other groups and scopes.
pub(crate) type ListeningCaller = Arc<ArcSwap<Caller>>;

/// A listener whose caller stays the same.
pub(super) fn fixed_listener(caller: &Caller) -> ListeningCaller {
    Arc::new(ArcSwap::from_pointee(caller.clone()))
}

/// The items of the published snapshot that one caller sees, for its notifications.
#[derive(Debug)]
pub(super) struct CallerListenerView {
    catalog: Arc<Catalog>,
    caller: ListeningCaller,
}

impl ListenerView for CallerListenerView {
    fn lists(&self) -> Option<ListDigests> {
        let caller = self.caller.load_full();
        let (snapshot, view) = self.catalog.current_for(&caller.subject());
        view.is_some_and(|view| view.policy.has_roles()).then(|| snapshot.list_digests())
    }

    fn sees_uri(&self, uri: &str) -> bool {
        self.resources().has(uri)
    }

    fn retain_seen(&self, uris: &mut Vec<String>) {
        let seen = self.resources();
        uris.retain(|uri| seen.has(uri));
    }
}

impl CallerListenerView {
    pub(super) fn of(catalog: &Arc<Catalog>, caller: &ListeningCaller) -> Arc<dyn ListenerView> {
        Arc::new(Self { catalog: Arc::clone(catalog), caller: Arc::clone(caller) })
    }

    /// Looks up the view.
    fn resources(&self) -> VisibleResources {
        let caller = self.caller.load_full();
        let (snapshot, access) = self.catalog.current_for(&caller.subject());
        VisibleResources { caller, snapshot, access }
    }
}

/// The resources that a caller sees at one moment.
struct VisibleResources {
    caller: Arc<Caller>,
    snapshot: Arc<Snapshot>,
    /// `None` if every caller may use everything.
    access: Option<CallerView>,
}

impl VisibleResources {
    fn has(&self, uri: &str) -> bool {
        let Some(CallerView { policy, .. }) = &self.access else { return true };
        match self.snapshot.plugin_for_uri(uri) {
            Some(plugin) => self.caller.subject().has_scopes(policy.scopes_of(plugin.name(), None)),
            // Without roles, the removal of a listed resource is notified too. With roles it is unknown whether the
            // caller could see the resource.
            None => !policy.has_roles(),
        }
    }
}
