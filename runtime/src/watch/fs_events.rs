//! File system events, which bring the next poll forward. Without events, changes are found later.

use std::path::{Path, PathBuf};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::folder_poller::WatchedPaths;

/// Waits for events.
pub(super) struct FsEvents {
    received: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    folder: PathBuf,
    /// Device and inode of the watched folder; another folder may have its path by now.
    folder_id: Option<(u64, u64)>,
}

impl FsEvents {
    pub(super) fn open(watched: &WatchedPaths) -> Self {
        let (sender, received) = mpsc::channel(1);
        let paths = watched.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if !event.is_ok_and(|event| is_noise(&event, &paths)) {
                // One waiting event is enough.
                let _ = sender.try_send(());
            }
        });
        let watcher = watcher.map_err(|error| log_unwatched(&watched.folder, &error)).ok();
        let mut fs_events = Self { received, watcher, folder: watched.folder.clone(), folder_id: None };
        let parent = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut others = vec![parent(&watched.config), parent(&watched.lockfile)];
        others.dedup();
        others.retain(|folder| *folder != watched.folder);
        others.iter().for_each(|folder| fs_events.watch(folder));
        fs_events
    }

    /// Watches the plugin folder again if another folder has replaced it.
    pub(super) fn rewatch_if_replaced(&mut self, folder_id: Option<(u64, u64)>) {
        if folder_id == self.folder_id {
            return;
        }
        if let Some(watcher) = self.watcher.as_mut().filter(|_| self.folder_id.is_some()) {
            // The old folder may be gone, and its watch with it.
            let _ = watcher.unwatch(&self.folder);
        }
        self.folder_id = folder_id;
        if folder_id.is_some() {
            self.watch(&self.folder.clone());
        }
    }

    fn watch(&mut self, folder: &Path) {
        let watched = self.watcher.as_mut().map(|watcher| watcher.watch(folder, RecursiveMode::NonRecursive));
        if let Some(Err(error)) = watched {
            log_unwatched(folder, &error);
        }
    }

    /// Waits for the next event; for ever if there are no events.
    pub(super) async fn wait(&mut self) {
        if self.received.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// Whether an event can be ignored: it is about reading, or about files that the server does not use.
fn is_noise(event: &notify::Event, WatchedPaths { folder, config, lockfile }: &WatchedPaths) -> bool {
    let is_named = |path: &Path| {
        let ours = [folder, config, lockfile].into_iter().filter_map(|ours| ours.file_name());
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

fn log_unwatched(folder: &Path, error: &notify::Error) {
    tracing::info!(%error, folder = %folder.display(), "file system events are unavailable; the folder is polled");
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind};

    use super::*;

    #[test]
    fn what_matters_is_no_noise() {
        let watched =
            WatchedPaths { folder: "p".into(), config: "c.toml".into(), lockfile: "x/plugport.lock".into() };
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
