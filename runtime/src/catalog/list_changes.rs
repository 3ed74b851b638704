//! Changes of the catalog, as clients are notified of them.
//!
//! The catalog has only the present digests of the lists, and each receiver has the digests that it last reported. So a
//! slow receiver reports a list once, however often it changed, and not at all if it is again as last reported.

use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChange {
    /// The list of tools.
    Tools,
    /// The list of resources or that of resource templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The contents of the resource with this URI.
    Updated(Arc<str>),
    /// The receiver missed updates: any resource that it [sees](ChangeReceiver::retain_seen) may have new contents.
    Lost,
}

/// Digests of the lists: equal for lists that look the same to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListDigests {
    tools: u64,
    resources: (u64, u64),
    prompts: u64,
}

impl ListDigests {
    /// From the ids of the lists.
    pub(super) fn new(tools: u64, resources: u64, templates: u64, prompts: u64) -> Self {
        Self { tools, resources: (resources, templates), prompts }
    }

    /// Takes over one difference from `now` and returns it.
    fn step(&mut self, now: &Self) -> Option<CatalogChange> {
        if self.tools != now.tools {
            self.tools = now.tools;
            return Some(CatalogChange::Tools);
        }
        if self.resources != now.resources {
            self.resources = now.resources;
            return Some(CatalogChange::Resources);
        }
        if self.prompts != now.prompts {
            self.prompts = now.prompts;
            return Some(CatalogChange::Prompts);
        }
        None
    }
}

/// What one listener sees of the published snapshot, at each moment.
pub trait ListenerView: fmt::Debug + Send + Sync {
    /// The digests of the lists that the listener sees now; `None`: it sees everything.
    fn lists(&self) -> Option<ListDigests>;
    /// Whether the listener sees the resource with this URI now.
    fn sees_uri(&self, uri: &str) -> bool;
    /// Removes the URIs of resources that the listener does not see now. Its view is looked up once for all of them.
    fn retain_seen(&self, uris: &mut Vec<String>);
}

/// Receives changes for one listener.
#[derive(Debug)]
pub struct ChangeReceiver {
    /// The lists as last reported. `None` while clients get no lists.
    known: Option<ListDigests>,
    released: watch::Receiver<Option<ListDigests>>,
    lists: watch::Receiver<ListDigests>,
    updates: broadcast::Receiver<Arc<str>>,
    /// `None`: the listener sees everything.
    view: Option<Arc<dyn ListenerView>>,
}

impl ChangeReceiver {
    pub(super) fn new(
        known: Option<ListDigests>,
        released: watch::Receiver<Option<ListDigests>>,
        lists: watch::Receiver<ListDigests>,
        updates: broadcast::Receiver<Arc<str>>,
    ) -> Self {
        Self { known, released, lists, updates, view: None }
    }

    /// The same for a listener that may not see everything.
    #[must_use]
    pub fn seen_by(self, view: Arc<dyn ListenerView>) -> Self {
        Self { view: Some(view), ..self }
    }

    /// The digests of the lists that this listener sees, where `published` are those of all items.
    fn visible(&self, published: ListDigests) -> ListDigests {
        self.view.as_ref().and_then(|view| view.lists()).unwrap_or(published)
    }

    /// Removes the URIs of resources that this listener does not see now.
    pub fn retain_seen(&self, uris: &mut Vec<String>) {
        if let Some(view) = &self.view {
            view.retain_seen(uris);
        }
    }

    /// The next change; `None` when there will be no more. Cancel-safe.
    pub async fn next(&mut self) -> Option<CatalogChange> {
        loop {
            if self.known.is_none() {
                let released = *self.released.borrow_and_update();
                self.known = released.map(|released| self.visible(released));
            }
            let published = *self.lists.borrow_and_update();
            let now = self.visible(published);
            if let Some(change) = self.known.as_mut().and_then(|known| known.step(&now)) {
                return Some(change);
            }
            tokio::select! {
                changed = self.lists.changed() => changed.ok()?,
                released = self.released.changed(), if self.known.is_none() => released.ok()?,
                updated = self.updates.recv() => match updated {
                    Ok(uri) if self.view.as_ref().is_none_or(|view| view.sees_uri(&uri)) => {
                        return Some(CatalogChange::Updated(uri));
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return Some(CatalogChange::Lost),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The view of a listener that sees these resources only. Counts how often it is looked up.
    #[derive(Debug)]
    pub(crate) struct SeesOnly {
        uris: &'static [&'static str],
        lookups: AtomicUsize,
    }

    impl SeesOnly {
        pub(crate) fn new(uris: &'static [&'static str]) -> Arc<Self> {
            Arc::new(Self { uris, lookups: AtomicUsize::new(0) })
        }

        pub(crate) fn lookups(&self) -> usize {
            self.lookups.load(Ordering::Relaxed)
        }
    }

    impl ListenerView for SeesOnly {
        fn lists(&self) -> Option<ListDigests> {
            None
        }

        fn sees_uri(&self, uri: &str) -> bool {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            self.uris.contains(&uri)
        }

        fn retain_seen(&self, uris: &mut Vec<String>) {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            uris.retain(|uri| self.uris.contains(&uri.as_str()));
        }
    }

    fn lists(tools: u64, prompts: u64) -> ListDigests {
        ListDigests { tools, prompts, ..ListDigests::default() }
    }

    async fn now(changes: &mut ChangeReceiver) -> Option<CatalogChange> {
        tokio::select! {
            biased;
            change = changes.next() => change,
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn a_list_is_told_of_once_and_only_while_it_looks_different() {
        let (sender, receiver) = watch::channel(lists(1, 1));
        let (_updates, updated) = broadcast::channel(1);
        let (_release, released) = watch::channel(None);
        let mut changes = ChangeReceiver::new(Some(lists(1, 0)), released, receiver, updated);
        assert_eq!(
            now(&mut changes).await,
            Some(CatalogChange::Prompts),
            "it changed before anyone listened"
        );
        for tools in 2..9 {
            sender.send_replace(lists(tools, 1));
        }
        assert_eq!(now(&mut changes).await, Some(CatalogChange::Tools));
        sender.send_replace(lists(1, 1));
        sender.send_replace(lists(8, 1));
        assert_eq!(now(&mut changes).await, None, "it looks as it did");
    }

    #[tokio::test]
    async fn nobody_is_told_of_changes_of_lists_that_nobody_got() {
        let (sender, receiver) = watch::channel(lists(1, 1));
        let (_updates, updated) = broadcast::channel(1);
        let (release, released) = watch::channel(None);
        let mut changes = ChangeReceiver::new(None, released, receiver, updated);
        sender.send_replace(lists(2, 1));
        assert_eq!(now(&mut changes).await, None);
        release.send_replace(Some(lists(2, 1)));
        assert_eq!(now(&mut changes).await, None);
        sender.send_replace(lists(2, 2));
        assert_eq!(now(&mut changes).await, Some(CatalogChange::Prompts));
    }

    #[tokio::test]
    async fn updates_that_are_too_many_are_told_as_one() {
        let (_sender, receiver) = watch::channel(ListDigests::default());
        let (updates, updated) = broadcast::channel(2);
        let (_release, released) = watch::channel(None);
        let mut changes = ChangeReceiver::new(None, released, receiver, updated);
        (0..9).for_each(|n| drop(updates.send(format!("n:{n}").into())));
        assert_eq!(changes.next().await, Some(CatalogChange::Lost));
        assert_eq!(changes.next().await, Some(CatalogChange::Updated("n:7".into())));
    }
}
