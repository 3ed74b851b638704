//! Events of the file system, which bring the next poll forward. Without them changes are found too, only later.

use std::path::{Path, PathBuf};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::folder_poller::WatchedPaths;

/// Waits for events.
pub(super) struct FsEvents {
    received: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    folder: PathBuf,
    /// The folder that is watched, which may no longer be the one of that name.
    place: Option<(u64, u64)>,
}

impl FsEvents {
    pub(super) fn open(watched: &WatchedPaths) -> Self {
        let (sender, received) = mpsc::channel(1);
        let meant = watched.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if !event.is_ok_and(|event| is_noise(&event, &meant)) {
                // One event that waits is as good as many.
                let _ = sender.try_send(());
            }
        });
        let watcher = watcher.map_err(|error| unwatched(&watched.folder, &error)).ok();
        let mut fs_events = Self { received, watcher, folder: watched.folder.clone(), place: None };
        let parent = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut others = vec![parent(&watched.config), parent(&watched.lock)];
        others.dedup();
        others.retain(|folder| *folder != watched.folder);
        others.iter().for_each(|folder| fs_events.watch(folder));
        fs_events
    }

    /// Watches the folder of this name anew if it is another one now.
    pub(super) fn rewatch_if_replaced(&mut self, place: Option<(u64, u64)>) {
        if place == self.place {
            return;
        }
        if let Some(watcher) = self.watcher.as_mut().filter(|_| self.place.is_some()) {
            // The one that was watched may be gone, and with it the watch.
            let _ = watcher.unwatch(&self.folder);
        }
        self.place = place;
        if place.is_some() {
            self.watch(&self.folder.clone());
        }
    }

    fn watch(&mut self, folder: &Path) {
        let watched = self.watcher.as_mut().map(|watcher| watcher.watch(folder, RecursiveMode::NonRecursive));
        if let Some(Err(error)) = watched {
            unwatched(folder, &error);
        }
    }

    /// Waits for the next event; for ever when there are none.
    pub(super) async fn wait(&mut self) {
        if self.received.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// Whether an event is about nothing that matters: reading, or other files in a folder that has more than ours.
fn is_noise(event: &notify::Event, WatchedPaths { folder, config, lock }: &WatchedPaths) -> bool {
    let is_named = |path: &Path| {
        let ours = [folder, config, lock].into_iter().filter_map(|ours| ours.file_name());
        ours.into_iter().any(|ours| path.file_name() == Some(ours))
    };
    let matters = |path: &PathBuf| {
        let suffix = path
            .extension()
            .is_some_and(|suffix| ["wasm", "toml", "minisig"].iter().any(|ours| suffix == *ours));
        suffix || is_named(path)
    };
    let about_ours = event.paths.is_empty() || event.paths.iter().any(matters);
    matches!(event.kind, EventKind::Access(_)) || !about_ours
}

fn unwatched(folder: &Path, error: &notify::Error) {
    tracing::info!(%error, folder = %folder.display(), "file system events are unavailable; the folder is polled");
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind};

    use super::*;

    #[test]
    fn what_matters_is_no_noise() {
        let watched =
            WatchedPaths { folder: "p".into(), config: "c.toml".into(), lock: "x/plugport.lock".into() };
        let noise =
            |kind: EventKind, path: &str| is_noise(&notify::Event::new(kind).add_path(path.into()), &watched);
        let made = EventKind::Create(CreateKind::Any);
        for path in
            ["/a/p/v.wasm", "/a/p/v.toml", "/a/p/v.wasm.minisig", "/a/c.toml", "/a/x/plugport.lock", "/a/p"]
        {
            assert!(!noise(made, path), "{path}");
        }
        assert!(noise(made, "/a/other.log") && noise(EventKind::Access(AccessKind::Any), "/a/p/v.wasm"));
        assert!(
            !is_noise(&notify::Event::new(made), &watched),
            "an event that says nothing may mean anything"
        );
    }
}
