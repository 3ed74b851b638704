//! The queue of servers for a database that only one process at a time can have open.
//!
//! Only one process at a time can hold the lock of the database's file. The process that waits for it holds the lock of
//! a second file. So the process that has the database open sees that another one waits, and when it needs the database
//! again, it queues behind that one. The system releases both locks when a process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the second file, in the state folder.
const FILE: &str = "plugins.queue";

/// How long to wait. While another server waits, a server keeps the database open for at most [`TIME_SLICE`] and one
/// transaction. A plugin that needs the database while it starts has two seconds.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// After a wait that failed, opening fails at once for this time. Threads wait one after another, so otherwise each of
/// them would wait for another [`MAX_WAIT`].
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Time between two attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// How long a server may use the database while another waits. Opening takes some milliseconds, and two busy servers
/// should not spend most of their time on that.
const TIME_SLICE: Duration = Duration::from_millis(50);

/// The queue, as this process sees it.
#[derive(Debug)]
pub(super) struct ProcessLock {
    file: File,
    /// When this process last opened the database.
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

    /// Queues, and runs `attempt` until it opens the database. Returns `None` when another process keeps the database
    /// open; after that, returns `None` at once for a while.
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
        // On a file system without locks there is no queue, but only the lock of the database.
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

    /// Whether another process waits, and this process has had the database open for [`TIME_SLICE`].
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
