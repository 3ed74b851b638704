//! Watches the sources. Events of the file system only make the next scan come sooner; scans find the changes, and run
//! every two seconds also without events.
//!
//! Folders are watched one by one: a watch over the whole project would be one over `target` and `node_modules`, too.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::sources::{SourceFiles, SourceScan, Sources};

/// How often to look when nothing is known to have happened.
const PERIOD: Duration = Duration::from_secs(2);

/// For how long nothing must happen before it is looked: editors save several files at once.
const QUIET: Duration = Duration::from_millis(150);

/// How long to wait for that quiet.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches the sources of a project.
pub(super) struct SourceWatcher {
    sources: Arc<Sources>,
    woken: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
    /// How everything looked last.
    seen: Arc<SourceScan>,
}

impl SourceWatcher {
    pub(super) fn new(sources: Sources) -> Self {
        let sources = Arc::new(sources);
        let (wake, woken) = mpsc::channel(1);
        let of_interest = Arc::clone(&sources);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_nothing(&event, &of_interest)) {
                return;
            }
            // One hint that waits is as good as many.
            let _ = wake.try_send(());
        });
        let watcher = watcher
            .map_err(
                |error| tracing::info!(%error, "file system events are unavailable; the sources are polled"),
            )
            .ok();
        Self { sources, woken, watcher, folders: BTreeSet::new(), seen: Arc::default() }
    }

    /// What is in the sources now. `None` when they could not be looked at.
    pub(super) async fn scan(&mut self) -> Option<SourceFiles> {
        let (sources, before) = (Arc::clone(&self.sources), Arc::clone(&self.seen));
        let seen = spawn_blocking(move || sources.scan(&before)).await.ok()?;
        self.watch_folders(seen.folders.clone());
        self.seen = Arc::new(seen);
        Some(self.seen.files.iter().map(|(path, (_, content))| (path.clone(), *content)).collect())
    }

    /// Watches these folders and no others.
    fn watch_folders(&mut self, folders: BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.folders.difference(&folders) {
            // The system has mostly forgotten it already.
            let _ = watcher.unwatch(gone);
        }
        for new in folders.difference(&self.folders) {
            if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, "file system events are unavailable for a folder; it is polled");
            }
        }
        self.folders = folders;
    }

    /// Waits until it is time to look. Can be dropped; whoever drops it looks anyway.
    pub(super) async fn scan_due(&mut self) {
        match timeout(PERIOD, self.woken.recv()).await {
            Ok(Some(())) => {}
            Ok(None) => return sleep(PERIOD).await,
            Err(_) => return,
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if timeout(QUIET, self.woken.recv()).await.is_err() {
                return;
            }
        }
    }
}

/// Whether an event says nothing about sources. Looking opens every folder, which some systems tell, too.
fn is_nothing(event: &notify::Event, sources: &Sources) -> bool {
    let elsewhere = !event.paths.is_empty() && !event.paths.iter().any(|path| sources.has(path));
    !event.need_rescan() && (event.kind.is_access() || elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_is_hinted_at_and_seen() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let mut watch = SourceWatcher::new(Sources::new(root.clone(), []));
        assert!(watch.scan().await.unwrap().is_empty());
        std::fs::create_dir(root.join("src")).unwrap();
        watch.scan().await.unwrap();
        std::fs::write(root.join("src/lib.rs"), "x").unwrap();
        watch.scan_due().await;
        let seen = watch.scan().await.unwrap();
        assert_eq!(seen.keys().collect::<Vec<_>>(), [&root.join("src/lib.rs")]);
        std::fs::remove_dir_all(root.join("src")).unwrap();
        watch.scan_due().await;
        assert!(watch.scan().await.unwrap().is_empty());
        assert_eq!(watch.folders.len(), 1);
    }
}
