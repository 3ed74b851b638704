//! Which snapshot a caller gets: the published one, or what its roles show of it.
//!
//! Callers with the same roles share one view, which is made when the first of them needs it. So a thousand principals
//! of five roles cost as many views as there are combinations of roles. Views are dropped when the snapshot or the
//! policy is replaced: an old one would keep replaced plugins alive.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

use super::caller_view::CallerView;
use super::snapshot::Snapshot;
use crate::access::policy::{Policy, RoleSet, Subject};

/// Maximum number of views that are kept; then the oldest is dropped. A view of 1,400 tools takes about 20 KiB.
const MAX_VIEWS: usize = 96;

/// The policy, and the views under it.
#[derive(Debug, Default)]
pub(super) struct Visibility {
    /// `None`: every caller may use everything.
    policy: ArcSwapOption<Policy>,
    views: Mutex<Views>,
}

/// Views of one snapshot under one policy.
#[derive(Debug, Default)]
struct Views {
    source: Option<(Arc<Policy>, Arc<Snapshot>)>,
    by_roles: HashMap<RoleSet, Arc<Snapshot>>,
    /// The keys of `by_roles`, the oldest first.
    order: VecDeque<RoleSet>,
}

impl Views {
    fn insert(&mut self, roles: RoleSet, view: Arc<Snapshot>) {
        if self.by_roles.insert(roles, view).is_none() {
            self.order.push_back(roles);
        }
        if self.order.len() > MAX_VIEWS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_roles.remove(&oldest);
        }
    }
}

impl Visibility {
    /// Replaces the policy. `false`: it decides everything as before.
    pub(super) fn replace(&self, policy: Arc<Policy>) -> bool {
        let policy = Some(policy).filter(|policy| !policy.is_empty());
        let before = self.policy.swap(policy.clone());
        self.forget_views();
        before.is_some() || policy.is_some()
    }

    /// The policy; `None`: every caller may use everything.
    pub(super) fn policy(&self) -> Option<Arc<Policy>> {
        self.policy.load_full()
    }

    pub(super) fn has_policy(&self) -> bool {
        self.policy.load().is_some()
    }

    pub(super) fn has_roles(&self) -> bool {
        self.policy.load().as_ref().is_some_and(|policy| policy.has_roles())
    }

    /// Drops all views.
    pub(super) fn forget_views(&self) {
        let dropped = std::mem::take(&mut *self.views.lock());
        drop(dropped);
    }

    /// The snapshot that a caller sees of `current`.
    pub(super) fn view(
        &self,
        current: impl Fn() -> Arc<Snapshot>,
        subject: &Subject<'_>,
    ) -> (Arc<Snapshot>, Option<CallerView>) {
        let Some(policy) = self.policy.load_full() else { return (current(), None) };
        let roles = policy.roles_of(subject);
        let view = CallerView { policy, roles };
        if !view.policy.has_roles() {
            return (current(), Some(view));
        }
        let snapshot = current();
        (self.visible(&snapshot, &view, current), Some(view))
    }

    fn visible(
        &self,
        snapshot: &Arc<Snapshot>,
        view: &CallerView,
        current: impl Fn() -> Arc<Snapshot>,
    ) -> Arc<Snapshot> {
        let is_source = |(policy, of): &(Arc<Policy>, Arc<Snapshot>)| {
            Arc::ptr_eq(policy, &view.policy) && Arc::ptr_eq(of, snapshot)
        };
        let views = self.views.lock();
        if views.source.as_ref().is_some_and(is_source)
            && let Some(known) = views.by_roles.get(&view.roles)
        {
            return Arc::clone(known);
        }
        drop(views);
        // Without the lock: another caller may make the same view meanwhile, which is the same work once more.
        let made = Arc::new(snapshot.visible_to(view.clone()));
        let mut views = self.views.lock();
        if !views.source.as_ref().is_some_and(is_source) {
            *views =
                Views { source: Some((Arc::clone(&view.policy), Arc::clone(snapshot))), ..Views::default() };
        }
        // A view of a snapshot that was replaced meanwhile would keep it alive until the next request.
        if Arc::ptr_eq(snapshot, &current()) {
            views.insert(view.roles, Arc::clone(&made));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_too_many_replaces_the_oldest_only() {
        let (mut views, view) = (Views::default(), Arc::new(Snapshot::new(Vec::new())));
        let roles = |number: usize| RoleSet::empty(number as u64);
        (0..MAX_VIEWS + 3).for_each(|number| views.insert(roles(number), Arc::clone(&view)));
        // The same view was made twice at the same time.
        views.insert(roles(MAX_VIEWS), Arc::clone(&view));
        let is_kept = |number: usize| views.by_roles.contains_key(&roles(number));
        assert!(!(0..3).any(is_kept) && (3..MAX_VIEWS + 3).all(is_kept));
        assert_eq!((views.by_roles.len(), views.order.len()), (MAX_VIEWS, MAX_VIEWS));
    }
}
