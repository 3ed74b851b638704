//! The key-value database of all plugins: one file, created when it is first needed.
//!
//! A write is on the disk before its call returns, so a killed server loses no completed write and damages nothing.
//!
//! Editors start one server each, so several servers may share the folder. Only one process at a time can have the
//! database open. So each server closes it after a short time without use, or at once when another server waits for it.
//!
//! After a failed write redb fails every operation, even reads, so the database is closed and opened again. Opening
//! reads the whole file and blocks all readers. Therefore writing pauses for a moment after a failed write, and for
//! longer if opening took long. While the disk is full, plugins can read but not write. The log has one line when
//! writing starts to fail and one when it works again.

mod interrupted_creation;
mod process_lock;

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use redb::Database;
use redb::backends::InMemoryBackend;

use interrupted_creation::truncate_partial;
use process_lock::ProcessLock;

/// Maximum length of a key, in bytes.
pub(crate) const KEY: usize = 1_024;

/// The name of the file in the state folder.
const FILE: &str = "plugins.redb";

/// How long writing pauses after a failed write.
const WRITE_PAUSE: Duration = Duration::from_secs(1);

/// The pause is at least this many times as long as opening took, so that opening takes only a small part of the time.
const PAUSE_FACTOR: u32 = 20;

/// Maximum size of the cache of pages, in bytes. redb would take 1 GiB, which values of plugins and results of tasks
/// fill on a busy server. A value that is written is in memory beside it.
const CACHE: usize = 16 << 20;

/// The database is closed after this time without use.
const IDLE: Duration = Duration::from_millis(100);

/// The database, which is open only while it is needed.
#[derive(Debug)]
pub struct KvDatabase {
    location: Location,
    opened: RwLock<OpenState>,
    /// The number of operations so far.
    uses: AtomicU64,
    /// How often opening failed because another process had the database open.
    lockouts: AtomicU64,
    /// For the thread that closes the database.
    this: Weak<Self>,
    /// The end of the pause after a failed write. `None` if the last write succeeded.
    paused_until: Mutex<Option<Instant>>,
    /// Whether the log has reported the current failure.
    has_warned: AtomicBool,
}

/// Where the database is stored.
#[derive(Debug)]
enum Location {
    /// In a file of this folder.
    Folder(PathBuf),
    /// In the memory of this process; it ends with the process.
    Memory,
    /// There is no state folder.
    Nowhere,
}

#[derive(Debug, Default)]
struct OpenState {
    /// `None` before the first use, while the database is closed, and after it failed.
    database: Option<Database>,
    /// `None` if no other process can open the database.
    process_lock: Option<ProcessLock>,
    /// Whether the database failed and has not been opened again.
    has_failed: bool,
    /// How often the database was opened. An operation that failed closes the database only if it was not opened again
    /// since.
    generation: u64,
}

/// Why an operation on the key-value database failed.
#[derive(Debug, thiserror::Error)]
pub enum KvError {
    /// Another process has the database open and does not close it.
    #[error("the database in the state folder {} is locked by another process; stop it, or name another folder with `state_dir` under [server]", .0.display())]
    InUse(PathBuf),
    /// Neither the configuration nor the environment names a folder.
    #[error(
        "there is no folder for key-value data; set HOME or XDG_STATE_HOME, or name one with `state_dir` under [server]"
    )]
    Nowhere,
    /// The database cannot be opened or created.
    #[error(
        "the state folder {} cannot be used; check its disk and its mode, or name another one with `state_dir` under [server]",
        folder.display()
    )]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// The error of the system or of the database.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The write would exceed the quota.
    #[error("over quota: the plugin may store {0} MiB (grant `kv`); delete something first")]
    OverQuota(u64),
    /// The write would exceed the quota of all callers of a plugin together.
    #[error(
        "over quota: all callers of the plugin together may store {0} MiB (grant `kv`); the operator can raise `quota_mib`, or delete what a caller has stored with `plugport forget`"
    )]
    OverTotal(u64),
    /// The key is empty or too long.
    #[error("a key has 1 to {KEY} bytes")]
    Key,
    /// The values have more bytes than one host call may transfer.
    #[error(
        "the values have more than {0} bytes together (limit `transfer_mib`); ask for fewer keys at once"
    )]
    TooMuch(usize),
    /// The value is not a number, or the sum does not fit.
    #[error("the value of this key is not a whole number in decimal digits, or the sum does not fit 64 bits")]
    NotANumber,
    /// A write failed, now or shortly before.
    #[error(
        "the disk of the state folder {} takes no writes, so plugins can read their key-value data but not change it; make room there",
        folder.display()
    )]
    Full {
        /// The folder.
        folder: PathBuf,
        /// The error of the write; `None` while writing pauses.
        source: Option<Box<redb::Error>>,
    },
    /// The disk or the file failed.
    #[error("the key-value database cannot be used; if that goes on, restore or remove the state folder")]
    Failed(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for KvError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

impl KvDatabase {
    /// A database in this folder. Nothing is created there before it is needed.
    #[must_use]
    pub fn new(folder: PathBuf) -> Arc<Self> {
        Self::at(Location::Folder(folder), None)
    }

    /// The database of a server with this state folder, if it has one.
    #[must_use]
    pub fn of_state(folder: Option<PathBuf>) -> Arc<Self> {
        Self::at(folder.map_or(Location::Nowhere, Location::Folder), None)
    }

    /// A database in memory, for commands that inspect plugins without changing their stored values.
    ///
    /// # Errors
    /// Never: a database in memory can always be created.
    pub fn in_memory() -> Result<Arc<Self>, KvError> {
        let database =
            Database::builder().set_cache_size(CACHE).create_with_backend(InMemoryBackend::new())?;
        Ok(Self::at(Location::Memory, Some(database)))
    }

    fn at(location: Location, database: Option<Database>) -> Arc<Self> {
        let opened = RwLock::new(OpenState { database, ..OpenState::default() });
        Arc::new_cyclic(|this| Self {
            location,
            opened,
            uses: AtomicU64::default(),
            lockouts: AtomicU64::default(),
            this: Weak::clone(this),
            paused_until: Mutex::default(),
            has_warned: AtomicBool::default(),
        })
    }

    /// Opens the database, to find out whether that is possible. The caller of this function reports the error to the
    /// operator.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process has the database open.
    pub fn open(&self) -> Result<(), KvError> {
        self.with_open(|_| Ok(())).inspect_err(|_| self.has_warned.store(true, Ordering::Relaxed))
    }

    /// Whether there is a database. Opening creates one.
    pub(super) fn exists(&self) -> bool {
        match &self.location {
            Location::Folder(folder) => folder.join(FILE).exists(),
            Location::Memory => true,
            Location::Nowhere => false,
        }
    }

    /// How often opening failed because another process had the database open. Compare two values to find out how often
    /// that happened in between.
    pub(crate) fn times_locked_out(&self) -> u64 {
        self.lockouts.load(Ordering::Relaxed)
    }

    /// Runs `work`, which only reads. Runs it again if the database has failed, because a failed write of one call
    /// makes the reads of all calls fail.
    pub(super) fn read<T>(&self, work: impl Fn(&Database) -> Result<T, KvError>) -> Result<T, KvError> {
        let read = match self.with_open(&work) {
            Err(KvError::Failed(error)) if has_closed(&error) => self.with_open(&work),
            read => read,
        };
        read.inspect_err(|error| self.log_once(error))
    }

    /// Runs `work`, which is one transaction.
    pub(super) fn write<T>(&self, work: impl FnOnce(&Database) -> Result<T, KvError>) -> Result<T, KvError> {
        let full = |source| KvError::Full { folder: self.folder().to_owned(), source };
        let until = *self.paused_until.lock();
        if until.is_some_and(|until| Instant::now() < until) {
            return Err(full(None));
        }
        let written = self.with_open(|database| self.write_and_set_pause(|| work(database))).map_err(
            |error| match error {
                KvError::Failed(source) if has_closed(&source) => full(Some(source)),
                error => error,
            },
        );
        if written.is_ok() && self.has_warned.swap(false, Ordering::Relaxed) {
            tracing::warn!("the key-value database is writable again");
        }
        written.inspect_err(|error| self.log_once(error))
    }

    /// Writes, and starts or ends the pause of writing. That must happen before the database is closed, so that opening
    /// can lengthen the pause and no other call writes in between.
    fn write_and_set_pause<T>(&self, write: impl FnOnce() -> Result<T, KvError>) -> Result<T, KvError> {
        let before = *self.paused_until.lock();
        let written = write();
        let mut until = self.paused_until.lock();
        match &written {
            Err(KvError::Failed(error)) if has_closed(error) => *until = Some(Instant::now() + WRITE_PAUSE),
            // If another write has failed meanwhile, the pause stays.
            Ok(_) if *until == before => *until = None,
            _ => {}
        }
        written
    }

    /// Logs an error, but only once until a write succeeds: a guest in a loop can cause any number of errors.
    fn log_once(&self, error: &KvError) {
        use KvError::{Failed, Full, InUse, Nowhere, Unusable};
        let is_serious = matches!(error, InUse(_) | Nowhere | Unusable { .. } | Full { .. } | Failed(_));
        if is_serious && !self.has_warned.swap(true, Ordering::Relaxed) {
            let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            tracing::error!(cause, "{error}");
        }
    }

    /// Runs `work` on the database, which stays open meanwhile.
    fn with_open<T>(&self, work: impl FnOnce(&Database) -> Result<T, KvError>) -> Result<T, KvError> {
        let (generation, done) = loop {
            let opened = self.opened.read();
            let must_close = opened.process_lock.as_ref().is_some_and(ProcessLock::is_over);
            if let Some(database) = opened.database.as_ref().filter(|_| !must_close) {
                self.uses.fetch_add(1, Ordering::Relaxed);
                break (opened.generation, work(database));
            }
            let generation = opened.generation;
            drop(opened);
            self.close(generation, false);
            self.open_again()?;
        };
        if let Err(KvError::Failed(error)) = &done
            && has_closed(error)
        {
            self.close(generation, true);
        }
        done
    }

    /// Closes the database, unless it was opened again after `generation`.
    fn close(&self, generation: u64, failed: bool) {
        let mut opened = self.opened.write();
        if opened.generation == generation {
            opened.has_failed |= failed;
            opened.database = None;
        }
    }

    /// Opens the database, unless another thread has done so.
    fn open_again(&self) -> Result<(), KvError> {
        let mut opened = self.opened.write();
        if opened.database.is_some() {
            return Ok(());
        }
        let folder = match &self.location {
            Location::Folder(folder) => folder,
            // A database in memory is open from the start. Once it is closed, its values are gone.
            Location::Memory | Location::Nowhere => return Err(KvError::Nowhere),
        };
        let unusable = |error: io::Error| KvError::Unusable { folder: folder.clone(), source: error.into() };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
        let mut process_lock = match opened.process_lock.take() {
            Some(process_lock) => process_lock,
            None => ProcessLock::open(folder).map_err(unusable)?,
        };
        let begun = Instant::now();
        let database = process_lock.wait(|| database(folder));
        opened.process_lock = Some(process_lock);
        let Some(database) = database? else {
            self.lockouts.fetch_add(1, Ordering::Relaxed);
            return Err(KvError::InUse(folder.clone()));
        };
        opened.database = Some(database);
        opened.generation += 1;
        // Writing stays paused for a while after opening, so that waiting calls can read first.
        if std::mem::take(&mut opened.has_failed)
            && let Some(until) = &mut *self.paused_until.lock()
        {
            *until = Instant::now() + WRITE_PAUSE.max(PAUSE_FACTOR * begun.elapsed());
        }
        self.close_when_idle(opened.generation);
        Ok(())
    }

    /// Starts a thread that closes the database when it is idle or another server waits for it. If no thread can be
    /// started, the database stays open until an operation finds another server waiting.
    fn close_when_idle(&self, generation: u64) {
        let this = Weak::clone(&self.this);
        let closing = std::thread::Builder::new().name("store".to_owned()).spawn(move || {
            let mut seen = None;
            loop {
                std::thread::sleep(IDLE);
                let Some(database) = this.upgrade() else { return };
                let now = database.uses.load(Ordering::Relaxed);
                if seen.replace(now) == Some(now) || database.is_over(generation) {
                    return database.close(generation, false);
                }
            }
        });
        if let Err(error) = closing {
            tracing::debug!(%error, "the key-value database stays open");
        }
    }

    /// Whether the database must be closed, or was closed or opened again after `generation`.
    fn is_over(&self, generation: u64) -> bool {
        let opened = self.opened.read();
        opened.generation != generation
            || opened.database.is_none()
            || opened.process_lock.as_ref().is_some_and(ProcessLock::is_over)
    }

    /// The folder, for messages.
    fn folder(&self) -> &Path {
        match &self.location {
            Location::Folder(folder) => folder,
            Location::Memory | Location::Nowhere => Path::new(""),
        }
    }
}

/// Opens or creates the database; `None` if another process has it open.
fn database(folder: &Path) -> Result<Option<Database>, KvError> {
    let unusable = |source| KvError::Unusable { folder: folder.to_owned(), source };
    // Created here and not by redb, to set its mode.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(folder.join(FILE)).map_err(|error| unusable(error.into()))?;
    truncate_partial(&file).map_err(|error| unusable(error.into()))?;
    match Database::builder().set_cache_size(CACHE).create_file(file) {
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => Ok(None),
        opened => opened.map(Some).map_err(|error| unusable(error.into())),
    }
}

/// Whether all later operations fail too after this error.
fn has_closed(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseClosed)
}

#[cfg(test)]
mod tests;
