//! Writes what is used to the file, on a thread of its own.
//!
//! Calls hand over buckets and wait for the write that has them; while the thread writes, those of other calls come
//! together for its next write. So no call does the writing of another one, and only calls whose own bucket is not in
//! the file wait. What waits to be written is bounded by the number of buckets.
//!
//! A disk that takes no writes stops no call: quotas go on to hold in memory, and the operator is told what a restart
//! would lose. Of a disk that hangs, one call finds out by waiting for [`PATIENCE`]; until it writes again none waits.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::file::{QuotaFile, StoredBuckets};
use super::gcra::StoredBucket;
use super::table::{BucketKey, WriteAheadLog};
use super::wall_clock;

/// How long a call waits for its bucket to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread and what it shares with calls. Dropping it waits until everything is written.
#[derive(Debug)]
pub(super) struct QuotaStore {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    pending: Mutex<Pending>,
    added: Condvar,
    /// The number of the last write that is done.
    done: watch::Sender<u64>,
    /// A write takes too long, and the operator knows.
    is_stalled: AtomicBool,
}

#[derive(Debug, Default)]
struct Pending {
    buckets: StoredBuckets,
    /// The number of the last write that has begun.
    begun: u64,
    is_closed: bool,
}

impl QuotaStore {
    /// Reads the file of this folder, and starts the thread. Returns what the file says too.
    ///
    /// # Errors
    /// When the system starts no thread.
    pub(super) fn start(folder: PathBuf) -> io::Result<(Self, StoredBuckets)> {
        let file = QuotaFile::read(folder, wall_clock());
        let buckets = file.buckets().clone();
        let shared = Arc::new(Shared {
            pending: Mutex::default(),
            added: Condvar::new(),
            done: watch::Sender::new(0),
            is_stalled: AtomicBool::new(false),
        });
        let writing = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("quotas".to_owned()).spawn(move || writing.run(file))?;
        Ok((Self { shared, thread: Some(thread) }, buckets))
    }

    /// Waits until a write is done, or has failed.
    pub(super) async fn written(&self, write: u64) {
        let shared = &*self.shared;
        if shared.is_done(write) || shared.is_stalled.load(Ordering::Relaxed) {
            return;
        }
        let mut done = shared.done.subscribe();
        let waiting = async { done.wait_for(|done| *done >= write).await.map(drop) };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        if waited.is_err() && !shared.is_stalled.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "the disk of the state folder takes too long to write quotas; calls go on, and a restart may forget \
                 what callers use in the meantime"
            );
        }
    }
}

impl WriteAheadLog for QuotaStore {
    fn put(&self, key: BucketKey, stored: StoredBucket) -> u64 {
        let mut pending = self.shared.pending.lock();
        pending.buckets.insert(key, stored);
        self.shared.added.notify_one();
        pending.begun.saturating_add(1)
    }
}

impl Shared {
    fn is_done(&self, write: u64) -> bool {
        *self.done.borrow() >= write
    }

    fn run(&self, mut file: QuotaFile) {
        while let Some((buckets, write)) = self.next() {
            file.write(buckets, wall_clock());
            self.is_stalled.store(false, Ordering::Relaxed);
            self.done.send_replace(write);
        }
    }

    /// The buckets of the next write; `None` at the end.
    fn next(&self) -> Option<(StoredBuckets, u64)> {
        let mut pending = self.pending.lock();
        while pending.buckets.is_empty() {
            if pending.is_closed {
                return None;
            }
            self.added.wait(&mut pending);
        }
        pending.begun = pending.begun.saturating_add(1);
        Some((std::mem::take(&mut pending.buckets), pending.begun))
    }
}

impl Drop for QuotaStore {
    fn drop(&mut self) {
        self.shared.pending.lock().is_closed = true;
        self.shared.added.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes quotas failed");
        }
    }
}
