//! Hints of the file system that something has happened. Without them changes are found too, only later.

use std::path::{Path, PathBuf};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::eyes::Watched;

/// Waits for hints.
pub(super) struct Hints {
    hinted: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    folder: PathBuf,
    /// The folder that is watched, which may no longer be the one of that name.
    place: Option<(u64, u64)>,
}

impl Hints {
    pub(super) fn open(watched: &Watched) -> Self {
        let (hint, hinted) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                // One hint that waits is as good as many.
                let _ = hint.try_send(());
            }
        });
        let watcher = watcher.map_err(|error| unwatched(&watched.folder, &error)).ok();
        let mut hints = Self { hinted, watcher, folder: watched.folder.clone(), place: None };
        let parent = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut others = vec![parent(&watched.config), parent(&watched.lock)];
        others.dedup();
        others.retain(|folder| *folder != watched.folder);
        others.iter().for_each(|folder| hints.watch(folder));
        hints
    }

    /// Watches the folder of this name anew if it is another one now.
    pub(super) fn follow(&mut self, place: Option<(u64, u64)>) {
        if place == self.place || place.is_none() {
            return;
        }
        if let Some(watcher) = self.watcher.as_mut().filter(|_| self.place.is_some()) {
            // The one that was watched may be gone, and with it the watch.
            let _ = watcher.unwatch(&self.folder);
        }
        self.place = place;
        self.watch(&self.folder.clone());
    }

    fn watch(&mut self, folder: &Path) {
        let watched = self.watcher.as_mut().map(|watcher| watcher.watch(folder, RecursiveMode::NonRecursive));
        if let Some(Err(error)) = watched {
            unwatched(folder, &error);
        }
    }

    /// Waits for the next hint; for ever when there are none.
    pub(super) async fn come(&mut self) {
        if self.hinted.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

fn unwatched(folder: &Path, error: &notify::Error) {
    tracing::info!(%error, folder = %folder.display(), "changes are found by looking only");
}
