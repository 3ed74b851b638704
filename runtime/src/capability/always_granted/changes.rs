//! `plugport:plugin/changes`: guests say that something listed or read has changed.
//!
//! The host function only records the change and returns; the watcher of `PendingChanges` acts on it later, at its own
//! pace. Equal changes are recorded once, so a guest that repeats itself costs no more than one that does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::bindings::plugport::plugin::changes::{Host, Listing};
use crate::capability::InstanceCtx;

/// Most resources of one plugin that wait to be announced. Further ones are only counted.
const MAX_PENDING: usize = 1_024;

/// Longest URI that is announced, bytes.
const LONGEST_URI: usize = 4 << 10;

/// The changes of one plugin that the watcher has not taken yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PluginChanges {
    /// Something that it lists has changed.
    pub listing: bool,
    /// Resources with new contents.
    pub updated: BTreeSet<String>,
    /// Resources that were not added because of a bound.
    pub lost: u64,
}

/// The changes that plugins announce, until the watcher takes them. Shared by all plugins of a process.
#[derive(Debug, Default)]
pub struct PendingChanges {
    pending: Mutex<BTreeMap<Arc<str>, PluginChanges>>,
    changed: Notify,
}

impl PendingChanges {
    /// Records that what `plugin` lists has changed.
    pub fn list_changed(&self, plugin: &Arc<str>) {
        self.pending.lock().entry(Arc::clone(plugin)).or_default().listing = true;
        self.changed.notify_one();
    }

    /// Records that a resource has new contents. `false`: the plugin has too many pending, or the URI is too long.
    pub fn resource_updated(&self, plugin: &Arc<str>, uri: &str) -> bool {
        let is_pending = {
            let mut pending = self.pending.lock();
            let changes = pending.entry(Arc::clone(plugin)).or_default();
            let may_add = changes.updated.len() < MAX_PENDING && uri.len() <= LONGEST_URI;
            let is_pending =
                changes.updated.contains(uri) || (may_add && changes.updated.insert(uri.to_owned()));
            changes.lost += u64::from(!is_pending);
            is_pending
        };
        self.changed.notify_one();
        is_pending
    }

    /// Waits until a change is pending. For one watcher.
    pub async fn wait_for_changes(&self) {
        while self.pending.lock().is_empty() {
            self.changed.notified().await;
        }
    }

    /// Removes and returns the changes of each plugin, with at most `max` updated resources; further ones stay pending.
    #[must_use]
    pub fn take(&self, max: usize) -> BTreeMap<Arc<str>, PluginChanges> {
        let mut pending = self.pending.lock();
        let mut taken = std::mem::take(&mut *pending);
        for (plugin, changes) in &mut taken {
            let Some(first) = changes.updated.iter().nth(max).cloned() else { continue };
            let updated = changes.updated.split_off(&first);
            pending.insert(Arc::clone(plugin), PluginChanges { updated, ..PluginChanges::default() });
        }
        taken
    }
}

impl Host for InstanceCtx {
    async fn list_changed(&mut self, _: Listing) -> wasmtime::Result<()> {
        self.host_fuel.charge(0).await?;
        if self.announces {
            self.plugin.changes.list_changed(&self.plugin.name);
        }
        Ok(())
    }

    async fn resource_updated(&mut self, uri: String) -> wasmtime::Result<()> {
        self.host_fuel.charge(uri.len()).await?;
        if self.announces && !self.plugin.changes.resource_updated(&self.plugin.name, &uri) {
            self.logs().host_line(
                "announced more updated resources than can be pending; clients are notified of the first ones",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_one_meaning_are_one_note_and_the_rest_is_counted() {
        let changes = PendingChanges::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for _ in 0..3 {
            changes.list_changed(&b);
            assert!(changes.resource_updated(&a, "x:1"));
        }
        for n in 0..1_100 {
            changes.resource_updated(&a, &format!("x:{n}"));
        }
        assert!(!changes.resource_updated(&b, &"x".repeat(5_000)));
        let taken = changes.take(1_000);
        assert_eq!((taken[&a].updated.len(), taken[&a].lost, taken[&a].listing), (1_000, 76, false));
        assert_eq!((taken[&b].updated.len(), taken[&b].lost, taken[&b].listing), (0, 1, true));
        assert_eq!(changes.take(1_000)[&a].updated.len(), 24);
        assert!(changes.take(1_000).is_empty());
    }

    #[tokio::test]
    async fn a_watcher_hears_of_what_was_noted_before_it_looked() {
        let changes = Arc::new(PendingChanges::default());
        changes.list_changed(&"p".into());
        changes.wait_for_changes().await;
        assert_eq!(changes.take(9).len(), 1);
        let waiting = tokio::spawn({
            let changes = Arc::clone(&changes);
            async move { changes.wait_for_changes().await }
        });
        changes.list_changed(&"p".into());
        waiting.await.unwrap();
    }
}
