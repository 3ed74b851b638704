//! The database for what plugins keep between calls: one file for all of them, made when it is first needed.
//!
//! A write is on the disk before it is reported, and a killed server loses none and breaks none.
//!
//! Several servers may share the folder, since editors start one each. The database is one process's at a time, so each
//! has it open while it uses it and no longer: it is closed when it has not been used for a moment, or at once when
//! another server waits for it.
//!
//! A database that the disk refused something refuses everything from then on, what it has kept included. So it is
//! closed then and opened again. Opening reads all of it and lets nobody else read, therefore nothing is written for a
//! moment after a write was refused, and for a longer one when opening took long: a disk without room costs plugins
//! what they write, and nobody what is there already. The log has a line for it, and one for its end.

mod partial_file;
mod process_lock;

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use redb::Database;
use redb::backends::InMemoryBackend;

use partial_file::truncate_partial;
use process_lock::ProcessLock;

/// Longest key, bytes.
pub(crate) const KEY: usize = 1_024;

/// The file in the state folder.
const FILE: &str = "plugins.redb";

/// How long nothing is written after the disk refused a write.
const WRITE_PAUSE: Duration = Duration::from_secs(1);

/// The same as a multiple of the time that opening took: at most one part in so many goes into opening.
const SHARE: u32 = 20;

/// After how long without use the database is closed.
const IDLE: Duration = Duration::from_millis(100);

/// The database, open while it is needed.
#[derive(Debug)]
pub struct KvDatabase {
    location: Location,
    opened: RwLock<OpenState>,
    /// How often it was used.
    used: AtomicU64,
    /// How often another process kept it.
    in_use: AtomicU64,
    /// For the thread that closes it.
    this: Weak<Self>,
    /// Until when nothing is written, after the disk refused a write. None when the last write worked.
    refused: Mutex<Option<Instant>>,
    /// Whether the operator knows that something is wrong.
    complained: AtomicBool,
}

/// Where the database is.
#[derive(Debug)]
enum Location {
    /// In a file of this folder.
    Folder(PathBuf),
    /// In the memory of this process, and gone with it.
    Memory,
    /// There is no place for it.
    Nowhere,
}

#[derive(Debug, Default)]
struct OpenState {
    /// None before it is needed, while it rests, and after it failed.
    database: Option<Database>,
    /// None where no other process can have it.
    process_lock: Option<ProcessLock>,
    /// It failed, and was not opened since.
    has_failed: bool,
    /// How often it was opened, so that whoever failed on one that is closed already leaves the next one open.
    times: u64,
}

/// Why the store does not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum KvError {
    /// Another process has it and does not give it up.
    #[error("the database in the state folder {} is locked by another process; stop it, or name another folder with `state_dir` under [server]", .0.display())]
    InUse(PathBuf),
    /// Neither the configuration nor the environment names a place.
    #[error(
        "there is no folder for key-value data; set HOME or XDG_STATE_HOME, or name one with `state_dir` under [server]"
    )]
    Nowhere,
    /// It cannot be opened or made.
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
    /// Not a key.
    #[error("a key has 1 to {KEY} bytes")]
    Key,
    /// More than one host call may hand over.
    #[error(
        "the values have more than {0} bytes together (limit `transfer_mib`); ask for fewer keys at once"
    )]
    TooMuch(usize),
    /// Not a number.
    #[error("the value of this key is not a whole number in decimal digits, or the sum does not fit 64 bits")]
    NotANumber,
    /// The disk refuses what is written, or did so a moment ago.
    #[error(
        "the disk of the state folder {} takes no writes, so plugins can read their key-value data but not change it; make room there",
        folder.display()
    )]
    Full {
        /// The folder.
        folder: PathBuf,
        /// What the system says, when it was asked.
        source: Option<Box<redb::Error>>,
    },
    /// The disk, or the file.
    #[error("the key-value database cannot be used; if that goes on, restore or remove the state folder")]
    Failed(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for KvError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

impl KvDatabase {
    /// A store in this folder. Nothing is made there before it is needed.
    #[must_use]
    pub fn new(folder: PathBuf) -> Arc<Self> {
        Self::at(Location::Folder(folder), None)
    }

    /// The store of a server whose state is in this folder, if there is one.
    #[must_use]
    pub fn of_state(folder: Option<PathBuf>) -> Arc<Self> {
        Self::at(folder.map_or(Location::Nowhere, Location::Folder), None)
    }

    /// A store that is gone with the process, for looking at plugins without changing what they keep.
    ///
    /// # Errors
    /// Never, as far as the database promises.
    pub fn in_memory() -> Result<Arc<Self>, KvError> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
        Ok(Self::at(Location::Memory, Some(database)))
    }

    fn at(location: Location, database: Option<Database>) -> Arc<Self> {
        let opened = RwLock::new(OpenState { database, ..OpenState::default() });
        Arc::new_cyclic(|this| Self {
            location,
            opened,
            used: AtomicU64::default(),
            in_use: AtomicU64::default(),
            this: Weak::clone(this),
            refused: Mutex::default(),
            complained: AtomicBool::default(),
        })
    }

    /// Opens the database now, to find out whether it can be. Whoever asks tells the operator.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process keeps it.
    pub fn open(&self) -> Result<(), KvError> {
        self.on(|_| Ok(())).inspect_err(|_| self.complained.store(true, Ordering::Relaxed))
    }

    /// How often somebody went without it since another process kept it. Who looks before and after knows of the time
    /// between.
    pub(crate) fn times_locked_out(&self) -> u64 {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Runs `work`, which changes nothing, and runs it again if the database failed meanwhile, as it does for all when
    /// a write of one is refused.
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
        let until = *self.refused();
        if until.is_some_and(|until| Instant::now() < until) {
            return Err(full(None));
        }
        let written = self.on(|database| self.noting(|| work(database))).map_err(|error| match error {
            KvError::Failed(source) if has_closed(&source) => full(Some(source)),
            error => error,
        });
        if written.is_ok() && self.complained.swap(false, Ordering::Relaxed) {
            tracing::warn!("the key-value database is writable again");
        }
        written.inspect_err(|error| self.log_once(error))
    }

    /// Writes, and notes whether the disk takes that. Noted before the database is closed, so that whoever opens it
    /// again knows why, and nobody else writes meanwhile.
    fn noting<T>(&self, write: impl FnOnce() -> Result<T, KvError>) -> Result<T, KvError> {
        let before = *self.refused();
        let written = write();
        let mut refused = self.refused();
        match &written {
            Err(KvError::Failed(error)) if has_closed(error) => *refused = Some(Instant::now() + WRITE_PAUSE),
            // Not when another write was refused meanwhile.
            Ok(_) if *refused == before => *refused = None,
            _ => {}
        }
        written
    }

    fn refused(&self) -> MutexGuard<'_, Option<Instant>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the operator once, until something could be written again. Calls are many, and may be a guest's that
    /// loops.
    fn log_once(&self, error: &KvError) {
        use KvError::{Failed, Full, InUse, Nowhere, Unusable};
        let is_serious = matches!(error, InUse(_) | Nowhere | Unusable { .. } | Full { .. } | Failed(_));
        if is_serious && !self.complained.swap(true, Ordering::Relaxed) {
            let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            tracing::error!(cause, "{error}");
        }
    }

    /// Runs `work` on the database, which nobody closes meanwhile.
    fn on<T>(&self, work: impl FnOnce(&Database) -> Result<T, KvError>) -> Result<T, KvError> {
        let (times, done) = loop {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            let over = opened.process_lock.as_ref().is_some_and(ProcessLock::is_over);
            if let Some(database) = opened.database.as_ref().filter(|_| !over) {
                self.used.fetch_add(1, Ordering::Relaxed);
                break (opened.times, work(database));
            }
            let times = opened.times;
            drop(opened);
            self.close(times, false);
            self.open_again()?;
        };
        if let Err(KvError::Failed(error)) = &done
            && has_closed(error)
        {
            self.close(times, true);
        }
        done
    }

    /// Closes the database that was opened so many times, if it is still that one.
    fn close(&self, times: u64, failed: bool) {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.times == times {
            opened.has_failed |= failed;
            opened.database = None;
        }
    }

    /// Opens the database, unless somebody was faster.
    fn open_again(&self) -> Result<(), KvError> {
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.database.is_some() {
            return Ok(());
        }
        let folder = match &self.location {
            Location::Folder(folder) => folder,
            // What was in memory was there from the begin.
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
            self.in_use.fetch_add(1, Ordering::Relaxed);
            return Err(KvError::InUse(folder.clone()));
        };
        opened.database = Some(database);
        opened.times += 1;
        // Those who read come first.
        if std::mem::take(&mut opened.has_failed)
            && let Some(until) = &mut *self.refused()
        {
            *until = Instant::now() + WRITE_PAUSE.max(SHARE * begun.elapsed());
        }
        self.close_when_idle(opened.times);
        Ok(())
    }

    /// Closes the database, once it is not used or another server waits for it. Without the thread for that it stays
    /// open until it is used while another waits.
    fn close_when_idle(&self, times: u64) {
        let this = Weak::clone(&self.this);
        let closing = std::thread::Builder::new().name("store".to_owned()).spawn(move || {
            let mut used = None;
            loop {
                std::thread::sleep(IDLE);
                let Some(store) = this.upgrade() else { return };
                let now = store.used.load(Ordering::Relaxed);
                if used.replace(now) == Some(now) || store.is_over(times) {
                    return store.close(times, false);
                }
            }
        });
        if let Err(error) = closing {
            tracing::debug!(%error, "the key-value database stays open");
        }
    }

    /// Whether there is nothing to wait for any more: another server waits, or this opening has ended.
    fn is_over(&self, times: u64) -> bool {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.times != times
            || opened.database.is_none()
            || opened.process_lock.as_ref().is_some_and(ProcessLock::is_over)
    }

    /// Where it is, for messages.
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
    // Made here and not by the database, for the mode.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(folder.join(FILE)).map_err(|error| unusable(error.into()))?;
    truncate_partial(&file).map_err(|error| unusable(error.into()))?;
    match Database::builder().create_file(file) {
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => Ok(None),
        opened => opened.map(Some).map_err(|error| unusable(error.into())),
    }
}

/// Whether the database does nothing more after this.
fn has_closed(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseClosed)
}

#[cfg(test)]
mod tests;
