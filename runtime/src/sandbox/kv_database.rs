//! The key-value database of all plugins: one file, made when it is first needed.
//!
//! A write is on the disk before it is reported, so a killed server loses no write and damages none.
//!
//! Several servers may share the folder, since editors start one each. Only one process at a time can have the database
//! open, so each server closes it when it has not used it for a moment, or at once when another server waits for it.
//!
//! After a failed write redb fails every operation, reads included. So the database is closed and opened again. Opening
//! reads the whole file and blocks all readers; therefore writing pauses for a moment after a failed write, and for
//! longer when opening took long. While the disk is full, plugins can read but not write. The log has a line for the
//! beginning and one for the end.

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

/// Longest key, bytes.
pub(crate) const KEY: usize = 1_024;

/// The file in the state folder.
const FILE: &str = "plugins.redb";

/// How long writing pauses after a write failed.
const WRITE_PAUSE: Duration = Duration::from_secs(1);

/// Shortest pause as a multiple of the time that opening took: opening takes at most one part in this many of the time.
const PAUSE_FACTOR: u32 = 20;

/// After how long without use the database is closed.
const IDLE: Duration = Duration::from_millis(100);

/// The database, open while it is needed.
#[derive(Debug)]
pub struct KvDatabase {
    location: Location,
    opened: RwLock<OpenState>,
    /// Operations so far.
    uses: AtomicU64,
    /// How often opening failed because another process had the database.
    lockouts: AtomicU64,
    /// For the thread that closes it.
    this: Weak<Self>,
    /// Until when writing pauses after a failed write. `None` when the last write succeeded.
    paused_until: Mutex<Option<Instant>>,
    /// Whether the operator knows that something is wrong.
    has_warned: AtomicBool,
}

/// Where the database is.
#[derive(Debug)]
enum Location {
    /// In a file of this folder.
    Folder(PathBuf),
    /// In the memory of this process, and gone with it.
    Memory,
    /// There is no state folder.
    Nowhere,
}

#[derive(Debug, Default)]
struct OpenState {
    /// `None` before it is needed, while it is closed, and after it failed.
    database: Option<Database>,
    /// `None` where no other process can have it.
    process_lock: Option<ProcessLock>,
    /// Whether it failed and was not opened since.
    has_failed: bool,
    /// How often it was opened. An operation closes only the opening on which it failed.
    generation: u64,
}

/// Why an operation on the key-value database failed.
#[derive(Debug, thiserror::Error)]
pub enum KvError {
    /// Another process has the database and does not close it.
    #[error("the database in the state folder {} is locked by another process; stop it, or name another folder with `state_dir` under [server]", .0.display())]
    InUse(PathBuf),
    /// Neither the configuration nor the environment names a folder.
    #[error(
        "there is no folder for key-value data; set HOME or XDG_STATE_HOME, or name one with `state_dir` under [server]"
    )]
    Nowhere,
    /// The database cannot be opened or made.
    #[error(
        "the state folder {} cannot be used; check its disk and its mode, or name another one with `state_dir` under [server]",
        folder.display()
    )]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// What the system or the database says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Beyond the quota.
    #[error("over quota: the plugin may store {0} MiB (grant `kv`); delete something first")]
    OverQuota(u64),
    /// Beyond the quota of all callers of a plugin together.
    #[error(
        "over quota: all callers of the plugin together may store {0} MiB (grant `kv`); the operator can raise `quota_mib`, or delete what a caller has stored with `plugport forget`"
    )]
    OverTotal(u64),
    /// Not a key.
    #[error("a key has 1 to {KEY} bytes")]
    Key,
    /// More bytes than one host call may hand over.
    #[error(
        "the values have more than {0} bytes together (limit `transfer_mib`); ask for fewer keys at once"
    )]
    TooMuch(usize),
    /// Not a number.
    #[error("the value of this key is not a whole number in decimal digits, or the sum does not fit 64 bits")]
    NotANumber,
    /// A write failed, now or a moment ago.
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
    /// The disk or the file fails.
    #[error("the key-value database cannot be used; if that goes on, restore or remove the state folder")]
    Failed(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for KvError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

impl KvDatabase {
    /// A database in this folder. Nothing is made there before it is needed.
    #[must_use]
    pub fn new(folder: PathBuf) -> Arc<Self> {
        Self::at(Location::Folder(folder), None)
    }

    /// The database of a server whose state is in this folder, if it has one.
    #[must_use]
    pub fn of_state(folder: Option<PathBuf>) -> Arc<Self> {
        Self::at(folder.map_or(Location::Nowhere, Location::Folder), None)
    }

    /// A database in memory, for commands that inspect plugins without changing their stored values.
    ///
    /// # Errors
    /// Never, as far as redb promises.
    pub fn in_memory() -> Result<Arc<Self>, KvError> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
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

    /// Opens the database now, to find out whether it can be opened. The caller tells the operator of an error.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process has the database.
    pub fn open(&self) -> Result<(), KvError> {
        self.on(|_| Ok(())).inspect_err(|_| self.has_warned.store(true, Ordering::Relaxed))
    }

    /// How often opening failed because another process had the database. The difference of two values is the number in
    /// between.
    pub(crate) fn times_locked_out(&self) -> u64 {
        self.lockouts.load(Ordering::Relaxed)
    }

    /// Runs `work`, which only reads. Runs it again if the database fails: a failed write of one call makes the reads
    /// of all calls fail.
    pub(super) fn read<T>(&self, work: impl Fn(&Database) -> Result<T, KvError>) -> Result<T, KvError> {
        let read = match self.on(&work) {
            Err(KvError::Failed(error)) if has_closed(&error) => self.on(&work),
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
        let written = self.on(|database| self.note_write(|| work(database))).map_err(|error| match error {
            KvError::Failed(source) if has_closed(&source) => full(Some(source)),
            error => error,
        });
        if written.is_ok() && self.has_warned.swap(false, Ordering::Relaxed) {
            tracing::warn!("the key-value database is writable again");
        }
        written.inspect_err(|error| self.log_once(error))
    }

    /// Writes, and begins or ends the pause of writing. This is done before the database is closed, so that opening can
    /// lengthen the pause and no other call writes in between.
    fn note_write<T>(&self, write: impl FnOnce() -> Result<T, KvError>) -> Result<T, KvError> {
        let before = *self.paused_until.lock();
        let written = write();
        let mut until = self.paused_until.lock();
        match &written {
            Err(KvError::Failed(error)) if has_closed(error) => *until = Some(Instant::now() + WRITE_PAUSE),
            // Not when another write failed in the meantime.
            Ok(_) if *until == before => *until = None,
            _ => {}
        }
        written
    }

    /// Logs an error once until a write succeeds again, since a guest that loops can cause any number of errors.
    fn log_once(&self, error: &KvError) {
        use KvError::{Failed, Full, InUse, Nowhere, Unusable};
        let is_serious = matches!(error, InUse(_) | Nowhere | Unusable { .. } | Full { .. } | Failed(_));
        if is_serious && !self.has_warned.swap(true, Ordering::Relaxed) {
            let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            tracing::error!(cause, "{error}");
        }
    }

    /// Runs `work` on the database, which stays open until `work` ends.
    fn on<T>(&self, work: impl FnOnce(&Database) -> Result<T, KvError>) -> Result<T, KvError> {
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

    /// Closes the database if it is still the opening `generation`.
    fn close(&self, generation: u64, failed: bool) {
        let mut opened = self.opened.write();
        if opened.generation == generation {
            opened.has_failed |= failed;
            opened.database = None;
        }
    }

    /// Opens the database, unless another thread did.
    fn open_again(&self) -> Result<(), KvError> {
        let mut opened = self.opened.write();
        if opened.database.is_some() {
            return Ok(());
        }
        let folder = match &self.location {
            Location::Folder(folder) => folder,
            // A database in memory is open from the start; once it is closed, its values are gone.
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
        // Writing stays paused for a while after opening, so that calls that wait can read first.
        if std::mem::take(&mut opened.has_failed)
            && let Some(until) = &mut *self.paused_until.lock()
        {
            *until = Instant::now() + WRITE_PAUSE.max(PAUSE_FACTOR * begun.elapsed());
        }
        self.close_when_idle(opened.generation);
        Ok(())
    }

    /// Starts a thread that closes the database when it is idle or another server waits for it. Without that thread the
    /// database stays open until it is used while another server waits.
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

    /// Whether the opening `generation` must be closed, or is closed already.
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

/// Opens or makes the database; `None` while another process has it.
fn database(folder: &Path) -> Result<Option<Database>, KvError> {
    let unusable = |source| KvError::Unusable { folder: folder.to_owned(), source };
    // The file is made here and not by redb, for its mode.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(folder.join(FILE)).map_err(|error| unusable(error.into()))?;
    truncate_partial(&file).map_err(|error| unusable(error.into()))?;
    match Database::builder().create_file(file) {
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => Ok(None),
        opened => opened.map(Some).map_err(|error| unusable(error.into())),
    }
}

/// Whether every later operation fails too after this error.
fn has_closed(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseClosed)
}

#[cfg(test)]
mod tests;
