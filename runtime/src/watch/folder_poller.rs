//! Polls the plugin folder, the configuration and the lockfile, on a thread of its own.
//!
//! Listing a directory can block, and it happens every few seconds for as long as the server runs: in the common pool
//! of threads for blocking work it would keep alive whichever of them are idle.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::sync::mpsc;

use super::file_stat::{LinkStat, PluginStat};
use super::folder_scan::{CandidateFile, ScanError, scan};

/// What is looked at.
#[derive(Debug, Clone)]
pub(super) struct WatchedPaths {
    /// The folder of the plugins.
    pub(super) folder: PathBuf,
    /// The configuration, whether or not there is one.
    pub(super) config: PathBuf,
    /// What was approved, whether or not there is such a file.
    pub(super) lock: PathBuf,
}

/// How it all looks.
#[derive(Debug)]
pub(super) struct PollResult {
    /// The candidates of the folder; nothing for one that cannot be looked at.
    pub(super) files: Result<BTreeMap<PathBuf, Option<PluginStat>>, ScanError>,
    /// Which folder it is: another one may have taken its place.
    pub(super) place: Option<(u64, u64)>,
    /// Of the configuration and of what was approved; nothing where it cannot be told, and then nothing has changed.
    pub(super) config: Option<Option<LinkStat>>,
    pub(super) lock: Option<Option<LinkStat>>,
}

/// Looks whenever asked. The thread ends when this is dropped.
pub(super) struct FolderPoller {
    ask: SyncSender<()>,
    seen: mpsc::Receiver<PollResult>,
    /// It was asked for and has not been seen.
    asked: bool,
}

impl FolderPoller {
    pub(super) fn open(watched: WatchedPaths) -> Self {
        let (ask, asked) = sync_channel(1);
        let (tell, seen) = mpsc::channel(1);
        let thread = std::thread::Builder::new().name("folder".to_owned());
        if let Err(error) = thread.spawn(move || poll_loop(&watched, &asked, &tell)) {
            tracing::error!(%error, "the plugin folder is not watched: no thread could be started");
        }
        Self { ask, seen, asked: false }
    }

    /// How it looks now; `None` when there is nobody to look. Can be dropped: the next one waits for the same answer.
    pub(super) async fn poll(&mut self) -> Option<PollResult> {
        if !self.asked {
            // One question that waits is enough.
            let _ = self.ask.try_send(());
            self.asked = true;
        }
        let seen = self.seen.recv().await;
        self.asked = false;
        seen
    }
}

fn poll_loop(watched: &WatchedPaths, asked: &Receiver<()>, tell: &mpsc::Sender<PollResult>) {
    while asked.recv().is_ok() {
        if tell.blocking_send(poll(watched)).is_err() {
            return;
        }
    }
}

fn poll(WatchedPaths { folder, config, lock }: &WatchedPaths) -> PollResult {
    let place = std::fs::metadata(folder).ok().map(|about| (about.dev(), about.ino()));
    PollResult {
        files: candidates(folder),
        place,
        config: LinkStat::of(config).ok(),
        lock: LinkStat::of(lock).ok(),
    }
}

/// The candidates of a folder, each with how it looks; without that where it cannot be told for now. Blocks.
pub(super) fn candidates(folder: &Path) -> Result<BTreeMap<PathBuf, Option<PluginStat>>, ScanError> {
    let mut found = BTreeMap::new();
    let mut failed = None;
    for CandidateFile { path, .. } in scan(folder)? {
        match PluginStat::of(&path) {
            Ok(None) => {}
            Ok(stat) => drop(found.insert(path, stat)),
            Err(error) => {
                failed = Some(error);
                found.insert(path, None);
            }
        }
    }
    // When none can be looked at, it is the folder that cannot be.
    match failed {
        Some(error) if found.values().all(Option::is_none) => Err(ScanError::of(folder, error)),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_lies_in_the_folder_is_seen_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("c.toml");
        let watched = WatchedPaths { folder: dir.path().to_owned(), lock: dir.path().join("lock"), config };
        let mut poller = FolderPoller::open(watched.clone());
        let seen = poller.poll().await.unwrap();
        assert!(seen.files.unwrap().is_empty() && seen.config == Some(None) && seen.place.is_some());
        std::fs::write(dir.path().join("a.wasm"), "x").unwrap();
        std::fs::write(&watched.config, "").unwrap();
        let seen = poller.poll().await.unwrap();
        assert_eq!((seen.files.unwrap().len(), seen.lock), (1, Some(None)));
        assert!(seen.config.flatten().is_some());
        drop(dir);
        let seen = poller.poll().await.unwrap();
        assert!(seen.files.is_err() && seen.place.is_none());
    }
}
