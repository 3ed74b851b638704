//! `plugport:plugin/changes`: guests say that something listed or read has changed.
//!
//! A guest only pins a note to the board and goes on; whoever watches the board acts on it later, at its own pace. Notes of
//! the same meaning are one note, so a guest that shouts costs no more than one that speaks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::State;
use crate::bindings::plugport::plugin::changes::{Host, Listing};

/// Resources of one plugin that wait to be announced. Beyond it they are counted only.
const MOST_PENDING: usize = 1_024;

/// Longest URI that is announced, bytes.
const LONGEST_URI: usize = 4 << 10;

/// What one plugin has said since it was last looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Something that it lists has changed.
    pub listing: bool,
    /// Resources with new contents.
    pub updated: BTreeSet<String>,
    /// Resources that there was no room for.
    pub lost: u64,
}

/// What plugins say has changed, until somebody looks. Shared by all plugins of a process.
#[derive(Debug, Default)]
pub struct ChangeBoard {
    pending: Mutex<BTreeMap<Arc<str>, Pending>>,
    pinned: Notify,
}

impl ChangeBoard {
    /// Notes that what `plugin` lists has changed.
    pub fn list_changed(&self, plugin: &Arc<str>) {
        self.lock().entry(Arc::clone(plugin)).or_default().listing = true;
        self.pinned.notify_one();
    }

    /// Notes that a resource has new contents. `false`: there was no room for it.
    pub fn resource_updated(&self, plugin: &Arc<str>, uri: &str) -> bool {
        let kept = {
            let mut board = self.lock();
            let pending = board.entry(Arc::clone(plugin)).or_default();
            let room = pending.updated.len() < MOST_PENDING && uri.len() <= LONGEST_URI;
            let kept = pending.updated.contains(uri) || (room && pending.updated.insert(uri.to_owned()));
            pending.lost += u64::from(!kept);
            kept
        };
        self.pinned.notify_one();
        kept
    }

    /// Waits until something is on the board. For one watcher.
    pub async fn noted(&self) {
        while self.lock().is_empty() {
            self.pinned.notified().await;
        }
    }

    /// Takes off the board what there is of each plugin, but of updated resources at most `most`; the rest stays for the
    /// next time.
    #[must_use]
    pub fn take(&self, most: usize) -> BTreeMap<Arc<str>, Pending> {
        let mut board = self.lock();
        let mut taken = std::mem::take(&mut *board);
        for (plugin, pending) in &mut taken {
            let Some(first) = pending.updated.iter().nth(most).cloned() else { continue };
            let updated = pending.updated.split_off(&first);
            board.insert(Arc::clone(plugin), Pending { updated, ..Pending::default() });
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for State {
    async fn list_changed(&mut self, _: Listing) -> wasmtime::Result<()> {
        self.meter.charge(0).await?;
        if self.announces {
            self.shared.changes.list_changed(&self.shared.name);
        }
        Ok(())
    }

    async fn resource_updated(&mut self, uri: String) -> wasmtime::Result<()> {
        self.meter.charge(uri.len()).await?;
        if self.announces && !self.shared.changes.resource_updated(&self.shared.name, &uri) {
            self.logs
                .note("said that more resources were updated than can wait; clients hear of the first ones");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_one_meaning_are_one_note_and_the_rest_is_counted() {
        let board = ChangeBoard::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for _ in 0..3 {
            board.list_changed(&b);
            assert!(board.resource_updated(&a, "x:1"));
        }
        for n in 0..1_100 {
            board.resource_updated(&a, &format!("x:{n}"));
        }
        assert!(!board.resource_updated(&b, &"x".repeat(5_000)));
        let taken = board.take(1_000);
        assert_eq!((taken[&a].updated.len(), taken[&a].lost, taken[&a].listing), (1_000, 76, false));
        assert_eq!((taken[&b].updated.len(), taken[&b].lost, taken[&b].listing), (0, 1, true));
        assert_eq!(board.take(1_000)[&a].updated.len(), 24);
        assert!(board.take(1_000).is_empty());
    }

    #[tokio::test]
    async fn a_watcher_hears_of_what_was_noted_before_it_looked() {
        let board = Arc::new(ChangeBoard::default());
        board.list_changed(&"p".into());
        board.noted().await;
        assert_eq!(board.take(9).len(), 1);
        let waiting = tokio::spawn({
            let board = Arc::clone(&board);
            async move { board.noted().await }
        });
        board.list_changed(&"p".into());
        waiting.await.unwrap();
    }
}
