//! The queue of servers for a database that one process at a time can have open.
//!
//! The lock of the database's file is one process's at a time. The process that waits for it holds the lock of a second
//! file: so the process that has the database sees that another waits, and later queues behind it. The system frees
//! both locks when a process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The second file, in the state folder.
const FILE: &str = "plugins.turn";

/// How long to wait. While another server waits, a server has the database open for at most [`TIME_SLICE`] and one
/// transaction; a plugin that waits while it starts has two seconds.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// How long opening fails at once after a wait that failed. Threads wait one after the other, so each would otherwise
/// wait for [`MAX_WAIT`] after all before it.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Time between two attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// How long a server may use the database while another waits: opening it takes some milliseconds, and two busy servers
/// should not spend their time on that.
const TIME_SLICE: Duration = Duration::from_millis(50);

/// The queue, as this process uses it.
#[derive(Debug)]
pub(super) struct ProcessLock {
    file: File,
    /// When the database was opened last.
    since: Instant,
    /// Until when opening fails at once, after a wait that failed.
    retry_at: Option<Instant>,
}

impl ProcessLock {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        Ok(Self { file: options.open(folder.join(FILE))?, since: Instant::now(), retry_at: None })
    }

    /// Queues, and runs `attempt` until it opens the database. `None` when another process keeps the database open, and
    /// at once for a while after that.
    pub(super) fn wait<T, E>(
        &mut self,
        attempt: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if self.retry_at.is_some_and(|until| Instant::now() < until) {
            return Ok(None);
        }
        let opened = self.queue(attempt);
        self.retry_at = matches!(opened, Ok(None)).then(|| Instant::now() + RETRY_AFTER);
        opened
    }

    fn queue<T, E>(&mut self, mut attempt: impl FnMut() -> Result<Option<T>, E>) -> Result<Option<T>, E> {
        let deadline = Instant::now() + MAX_WAIT;
        // On a file system without locks there is no queue, only the lock of the database.
        while let Err(TryLockError::WouldBlock) = self.file.try_lock() {
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
        let opened = loop {
            match attempt() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(RETRY_INTERVAL),
                opened => break opened,
            }
        };
        let _ = self.file.unlock();
        self.since = Instant::now();
        opened
    }

    /// Whether another process waits and this one has had the database for [`TIME_SLICE`].
    pub(super) fn is_over(&self) -> bool {
        self.since.elapsed() >= TIME_SLICE && self.has_waiter()
    }

    fn has_waiter(&self) -> bool {
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
