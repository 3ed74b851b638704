//! The queue of servers for a database that one process at a time can have open.
//!
//! The database is one process's at a time, by the lock of its file. Whoever waits for it holds the lock of a second
//! file: so the one that has the database sees that another waits, and when it wants it back it queues behind them. The
//! system takes both locks from a process that dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The file in the state folder whose lock is held by whoever waits.
const FILE: &str = "plugins.turn";

/// How long to wait. Nobody who works needs the database for longer than [`HELD`] and one transaction, and a plugin
/// that waits while it starts has two seconds for all of that.
const PATIENCE: Duration = Duration::from_secs(1);

/// For how long nobody waits again once somebody waited in vain. Waiting is done one after the other, so those who came
/// meanwhile would wait that many times as long.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How often the locks are tried.
const AGAIN: Duration = Duration::from_millis(2);

/// How long a server may go on with the database while another waits: opening it costs some milliseconds, and two that
/// are busy should not spend their time on that.
const HELD: Duration = Duration::from_millis(50);

/// The place in the queue.
#[derive(Debug)]
pub(super) struct ProcessLock {
    file: File,
    /// When the database was opened last.
    since: Instant,
    /// Until when nobody waits, after somebody did in vain.
    retry_at: Option<Instant>,
}

impl ProcessLock {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        Ok(Self { file: options.open(folder.join(FILE))?, since: Instant::now(), retry_at: None })
    }

    /// Queues, and tries to get the database until that works. `None` when somebody keeps it, and at once when it was
    /// kept from the last one who waited.
    pub(super) fn wait<T, E>(
        &mut self,
        attempt: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if self.retry_at.is_some_and(|until| Instant::now() < until) {
            return Ok(None);
        }
        let got = self.queue(attempt);
        self.retry_at = matches!(got, Ok(None)).then(|| Instant::now() + RETRY_AFTER);
        got
    }

    fn queue<T, E>(&mut self, mut attempt: impl FnMut() -> Result<Option<T>, E>) -> Result<Option<T>, E> {
        let deadline = Instant::now() + PATIENCE;
        // A file system without locks has no queue, and the lock of the database decides alone.
        while let Err(TryLockError::WouldBlock) = self.file.try_lock() {
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(AGAIN);
        }
        let got = loop {
            match attempt() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(AGAIN),
                got => break got,
            }
        };
        let _ = self.file.unlock();
        self.since = Instant::now();
        got
    }

    /// Whether another waits and this one has had its time.
    pub(super) fn is_over(&self) -> bool {
        self.since.elapsed() >= HELD && self.is_wanted()
    }

    fn is_wanted(&self) -> bool {
        match self.file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
            Ok(()) => {
                let _ = self.file.unlock();
                false
            }
        }
    }
}
