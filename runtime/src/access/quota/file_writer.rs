//! Writes the buckets of quotas to their file, on a thread of its own.
//!
//! A call passes its changed bucket to the thread and, if the bucket must be in the file before the call runs, waits
//! until it is written. While the thread writes, the buckets of other calls gather for its next write. So no call
//! writes for another one. The number of buckets bounds the memory of the pending ones.
//!
//! If the disk cannot be written, calls go on: quotas still hold in memory, and the log says what a restart would lose.
//! If the disk hangs, one call waits for [`WRITE_TIMEOUT`]; after that no call waits until the disk works again.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::gcra::StoredBucket;
use super::quota_file::{QuotaFile, StoredBuckets};
use super::usage_table::{BucketKey, WriteAheadLog};
use super::wall_clock;

/// How long a call waits until its bucket is written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The writing thread, and what it shares with calls. Dropping the writer waits until everything is written.
#[derive(Debug)]
pub(super) struct QuotaFileWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    pending: Mutex<Pending>,
    added: Condvar,
    /// The number of the last finished write.
    done: watch::Sender<u64>,
    /// Whether a write takes too long, which the log has reported.
    is_stalled: AtomicBool,
}

#[derive(Debug, Default)]
struct Pending {
    buckets: StoredBuckets,
    /// The number of the last write that was started.
    begun: u64,
    is_closed: bool,
}

impl QuotaFileWriter {
    /// Reads the file in this folder, and starts the thread. Returns the writer and the buckets of the file.
    ///
    /// # Errors
    /// When the system cannot start a thread.
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

    /// Waits until a write has succeeded or failed.
    pub(super) async fn written(&self, write: u64) {
        let shared = &*self.shared;
        if shared.is_done(write) || shared.is_stalled.load(Ordering::Relaxed) {
            return;
        }
        let mut done = shared.done.subscribe();
        let waiting = async { done.wait_for(|done| *done >= write).await.map(drop) };
        let waited = tokio::time::timeout(WRITE_TIMEOUT, waiting).await;
        if waited.is_err() && !shared.is_stalled.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "the disk of the state folder takes too long to write quotas; calls go on, and a restart may forget \
                 what callers use in the meantime"
            );
        }
    }
}

impl WriteAheadLog for QuotaFileWriter {
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

    /// Waits for pending buckets and returns them with the number of their write; `None` when the writer is dropped.
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

impl Drop for QuotaFileWriter {
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
