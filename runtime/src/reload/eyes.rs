//! Looks at the folder, on a thread of its own.
//!
//! Listing a directory can block, and it happens every few seconds for as long as the server runs: in the common pool of
//! threads for blocking work it would keep alive whichever of them are idle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::sync::mpsc;

use super::scan::{ScanError, scan};
use super::stamp::Stamp;

/// The candidates of a folder, and how each looks.
type Seen = Result<BTreeMap<PathBuf, Stamp>, ScanError>;

/// Looks at one folder whenever asked. The thread ends when this is dropped.
pub(super) struct Eyes {
    ask: SyncSender<()>,
    seen: mpsc::Receiver<Seen>,
}

impl Eyes {
    pub(super) fn open(folder: PathBuf) -> Self {
        let (ask, asked) = sync_channel(1);
        let (tell, seen) = mpsc::channel(1);
        let looking = std::thread::Builder::new().name("folder".to_owned());
        if let Err(error) = looking.spawn(move || keep_looking(&folder, &asked, &tell)) {
            tracing::error!(%error, "the plugin folder is not followed, since no thread could be started");
        }
        Self { ask, seen }
    }

    /// What lies in the folder now; `None` when there is nobody to look. Can be dropped: the next one gets that answer.
    pub(super) async fn look(&mut self) -> Option<Seen> {
        // One question that waits is enough.
        let _ = self.ask.try_send(());
        self.seen.recv().await
    }
}

fn keep_looking(folder: &Path, asked: &Receiver<()>, tell: &mpsc::Sender<Seen>) {
    while asked.recv().is_ok() {
        if tell.blocking_send(look(folder)).is_err() {
            return;
        }
    }
}

fn look(folder: &Path) -> Seen {
    let stamped = |path: PathBuf| Stamp::of(&path).map(|stamp| (path, stamp));
    Ok(scan(folder)?.into_iter().filter_map(|candidate| stamped(candidate.path)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_lies_in_the_folder_is_seen_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let mut eyes = Eyes::open(dir.path().to_owned());
        assert!(eyes.look().await.unwrap().unwrap().is_empty());
        std::fs::write(dir.path().join("a.wasm"), "x").unwrap();
        assert_eq!(eyes.look().await.unwrap().unwrap().len(), 1);
        drop(dir);
        assert!(eyes.look().await.unwrap().is_err());
    }
}
