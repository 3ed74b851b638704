//! Watches the sources. File system events only bring the next scan forward; scans find the changes, every two seconds
//! also without events.
//!
//! Folders are watched one by one: a recursive watch would include `target` and `node_modules`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::sources::{SourceFiles, SourceScan, Sources};

/// How often to scan without events.
const PERIOD: Duration = Duration::from_secs(2);

/// How long there must be no events before a scan: editors save several files at once.
const QUIET: Duration = Duration::from_millis(150);

/// Maximum time to wait for that.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Watches the sources of a project.
pub(super) struct SourceWatcher {
    sources: Arc<Sources>,
    events: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
    /// The last scan.
    last: Arc<SourceScan>,
}

impl SourceWatcher {
    pub(super) fn new(sources: Sources) -> Self {
        let sources = Arc::new(sources);
        let (sender, events) = mpsc::channel(1);
        let watched = Arc::clone(&sources);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_irrelevant(&event, &watched)) {
                return;
            }
            // One waiting event is enough.
            let _ = sender.try_send(());
        });
        let watcher = watcher
            .map_err(
                |error| tracing::info!(%error, "file system events are unavailable; the sources are polled"),
            )
            .ok();
        Self { sources, events, watcher, folders: BTreeSet::new(), last: Arc::default() }
    }

    /// The current sources. `None` if the scan failed.
    pub(super) async fn scan(&mut self) -> Option<SourceFiles> {
        let (sources, before) = (Arc::clone(&self.sources), Arc::clone(&self.last));
        let scan = spawn_blocking(move || sources.scan(&before)).await.ok()?;
        self.watch_folders(scan.folders.clone());
        self.last = Arc::new(scan);
        Some(self.last.files.iter().map(|(path, (_, content))| (path.clone(), *content)).collect())
    }

    /// The digest of the files of the last scan for which `counts` holds.
    pub(super) fn digest(&self, counts: impl Fn(&Path) -> bool) -> String {
        let mut digest = Sha256::new();
        for (path, (_, content)) in self.last.files.iter().filter(|(path, _)| counts(path)) {
            digest.update(format!("{path:?} {content:?}\n"));
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Watches exactly these folders.
    fn watch_folders(&mut self, folders: BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.folders.difference(&folders) {
            // Errors are ignored: a deleted folder is no longer watched.
            let _ = watcher.unwatch(gone);
        }
        for new in folders.difference(&self.folders) {
            if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, "file system events are unavailable for a folder; it is polled");
            }
        }
        self.folders = folders;
    }

    /// Waits until a scan is due. Can be dropped if the caller scans anyway.
    pub(super) async fn scan_due(&mut self) {
        match timeout(PERIOD, self.events.recv()).await {
            Ok(Some(())) => {}
            Ok(None) => return sleep(PERIOD).await,
            Err(_) => return,
        }
        let deadline = Instant::now() + MAX_WAIT;
        while Instant::now() < deadline {
            if timeout(QUIET, self.events.recv()).await.is_err() {
                return;
            }
        }
    }
}

/// Whether an event is not about sources. A scan opens every folder, which some systems report too.
fn is_irrelevant(event: &notify::Event, sources: &Sources) -> bool {
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
