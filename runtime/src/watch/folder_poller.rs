//! Polls the plugin folder, the configuration and the lockfile, on a thread of its own.
//!
//! Listing a directory can block, and polls come every few seconds for as long as the server runs. In tokio's pool of
//! blocking threads, polls would keep idle threads alive.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::sync::mpsc;

use super::folder_scan::{CandidateFile, ScanError, scan};
use super::plugin_file_stats::{LinkStat, PluginStat};

/// What is polled.
#[derive(Debug, Clone)]
pub(super) struct WatchedPaths {
    /// The plugin folder.
    pub(super) folder: PathBuf,
    /// The configuration file, which may be missing.
    pub(super) config: PathBuf,
    /// The lockfile, which may be missing.
    pub(super) lockfile: PathBuf,
}

/// The stats of one poll.
#[derive(Debug)]
pub(super) struct PollResult {
    /// The candidates of the folder; `None` for a file that cannot be examined.
    pub(super) files: Result<BTreeMap<PathBuf, Option<PluginStat>>, ScanError>,
    /// Device and inode of the folder: another folder may have replaced it.
    pub(super) folder_id: Option<(u64, u64)>,
    /// Of the configuration and the lockfile; the outer `None` means unknown, which counts as unchanged.
    pub(super) config: Option<Option<LinkStat>>,
    pub(super) lockfile: Option<Option<LinkStat>>,
}

/// Polls on request. The thread ends when this is dropped.
pub(super) struct FolderPoller {
    requests: SyncSender<()>,
    results: mpsc::Receiver<PollResult>,
    /// A poll was requested and its result has not been received.
    requested: bool,
}

impl FolderPoller {
    pub(super) fn open(watched: WatchedPaths) -> Self {
        let (requests, requested) = sync_channel(1);
        let (sender, results) = mpsc::channel(1);
        let thread = std::thread::Builder::new().name("folder".to_owned());
        if let Err(error) = thread.spawn(move || poll_loop(&watched, &requested, &sender)) {
            tracing::error!(%error, "the plugin folder is not watched: no thread could be started");
        }
        Self { requests, results, requested: false }
    }

    /// Polls once; `None` if the thread does not run. Can be dropped: the next call waits for the same result.
    pub(super) async fn poll(&mut self) -> Option<PollResult> {
        if !self.requested {
            // One waiting request is enough.
            let _ = self.requests.try_send(());
            self.requested = true;
        }
        let result = self.results.recv().await;
        self.requested = false;
        result
    }
}

fn poll_loop(watched: &WatchedPaths, requests: &Receiver<()>, results: &mpsc::Sender<PollResult>) {
    while requests.recv().is_ok() {
        if results.blocking_send(poll(watched)).is_err() {
            return;
        }
    }
}

fn poll(WatchedPaths { folder, config, lockfile }: &WatchedPaths) -> PollResult {
    let folder_id = std::fs::metadata(folder).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    PollResult {
        files: candidates(folder),
        folder_id,
        config: LinkStat::of(config).ok(),
        lockfile: LinkStat::of(lockfile).ok(),
    }
}

/// The candidates of a folder with their stats; `None` for a file that cannot be examined now. Blocks.
pub(super) fn candidates(folder: &Path) -> Result<BTreeMap<PathBuf, Option<PluginStat>>, ScanError> {
    let mut stats = BTreeMap::new();
    let mut failed = None;
    for CandidateFile { path, .. } in scan(folder)? {
        match PluginStat::of(&path) {
            Ok(None) => {}
            Ok(stat) => drop(stats.insert(path, stat)),
            Err(error) => {
                failed = Some(error);
                stats.insert(path, None);
            }
        }
    }
    // If no file can be examined, the fault is the folder's.
    match failed {
        Some(error) if stats.values().all(Option::is_none) => Err(ScanError::of(folder, error)),
        _ => Ok(stats),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_lies_in_the_folder_is_seen_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("c.toml");
        let watched =
            WatchedPaths { folder: dir.path().to_owned(), lockfile: dir.path().join("lock"), config };
        let mut poller = FolderPoller::open(watched.clone());
        let result = poller.poll().await.unwrap();
        assert!(
            result.files.unwrap().is_empty() && result.config == Some(None) && result.folder_id.is_some()
        );
        std::fs::write(dir.path().join("a.wasm"), "x").unwrap();
        std::fs::write(&watched.config, "").unwrap();
        let result = poller.poll().await.unwrap();
        assert_eq!((result.files.unwrap().len(), result.lockfile), (1, Some(None)));
        assert!(result.config.flatten().is_some());
        drop(dir);
        let result = poller.poll().await.unwrap();
        assert!(result.files.is_err() && result.folder_id.is_none());
    }
}
