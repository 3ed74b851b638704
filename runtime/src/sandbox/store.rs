//! The database for what plugins keep between calls: one file for all of them, made when it is first needed.
//!
//! A write is on the disk before it is reported, and a killed server loses none and breaks none.
//!
//! A database that the disk refused something refuses everything from then on, what it has kept included. So it is closed then
//! and opened again. Opening reads all of it, therefore nothing is written for a moment after a write was refused: a disk
//! without room costs plugins what they write, and nobody what is there already. The log has a line for it, and one for its end.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::Database;
use redb::backends::InMemoryBackend;

/// Longest key, bytes.
pub(super) const KEY: usize = 1_024;

/// The file in the state folder.
const FILE: &str = "plugins.redb";

/// Bytes at the begin of the file. They are never all zero once there is a database in it.
const HEAD: usize = 64;

/// How long nothing is written after the disk refused a write.
const REST: Duration = Duration::from_secs(1);

/// The database, opened when it is first needed.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// None before it is needed, and after it failed.
    database: RwLock<Option<Database>>,
    /// When the disk last refused a write.
    refused: Mutex<Option<Instant>>,
    /// Whether the operator knows that something is wrong.
    complained: AtomicBool,
}

/// Why the store does not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("the state folder {} is in use by another process; stop it, or name another folder with `state` under [server]", .0.display())]
    InUse(PathBuf),
    /// It cannot be opened or made.
    #[error(
        "the state folder {} cannot be used; see to its disk and its mode, or name another one with `state` under [server]",
        folder.display()
    )]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// What the system or the database says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Beyond the quota.
    #[error("over quota: the plugin may keep {0} MiB (grant `kv`); delete something first")]
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
    #[error(
        "what is kept under this key is not a whole number in decimal digits, or the sum does not fit 64 bits"
    )]
    NotANumber,
    /// The disk refuses what is written, or did so a moment ago.
    #[error(
        "the disk of the state folder {} takes no writes, so plugins can read what they keep but not change it; make room there",
        folder.display()
    )]
    Full {
        /// The folder.
        folder: PathBuf,
        /// What the system says, when it was asked.
        source: Option<Box<redb::Error>>,
    },
    /// The disk, or the file.
    #[error("what plugins keep cannot be used; if that goes on, restore or remove the state folder")]
    Failed(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for StoreError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

impl Store {
    /// A store in this folder. Nothing is made there before it is needed.
    #[must_use]
    pub fn new(folder: PathBuf) -> Arc<Self> {
        Self::having(folder, None)
    }

    /// A store that is gone with the process, for looking at plugins without changing what they keep.
    ///
    /// # Errors
    /// Never, as far as the database promises.
    pub fn in_memory() -> Result<Arc<Self>, StoreError> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
        Ok(Self::having(PathBuf::new(), Some(database)))
    }

    fn having(folder: PathBuf, database: Option<Database>) -> Arc<Self> {
        let database = RwLock::new(database);
        Arc::new(Self { folder, database, refused: Mutex::default(), complained: AtomicBool::default() })
    }

    /// Opens the database now, to find out whether it can be. Whoever asks tells the operator.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process uses it.
    pub fn open(&self) -> Result<(), StoreError> {
        self.on(|_| Ok(())).inspect_err(|_| self.complained.store(true, Ordering::Relaxed))
    }

    /// Runs `work`, which changes nothing, and runs it again if the database failed meanwhile, as it does for all when a write
    /// of one is refused.
    pub(super) fn read<T>(&self, work: impl Fn(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let read = match self.on(&work) {
            Err(StoreError::Failed(error)) if has_closed(&error) => self.on(&work),
            read => read,
        };
        read.inspect_err(|error| self.complain(error))
    }

    /// Runs `work`, which is one transaction.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let full = |source| StoreError::Full { folder: self.folder.clone(), source };
        let last = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < REST) {
            return Err(full(None));
        }
        let written = self.on(work).map_err(|error| match error {
            StoreError::Failed(source) if has_closed(&source) => {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                full(Some(source))
            }
            error => error,
        });
        if written.is_ok() && self.complained.swap(false, Ordering::Relaxed) {
            tracing::warn!("plugins can keep things again");
        }
        written.inspect_err(|error| self.complain(error))
    }

    /// Tells the operator once, until something could be written again. Calls are many, and may be a guest's that loops.
    fn complain(&self, error: &StoreError) {
        use StoreError::{Failed, Full, InUse, Unusable};
        let is_serious = matches!(error, InUse(_) | Unusable { .. } | Full { .. } | Failed(_));
        if is_serious && !self.complained.swap(true, Ordering::Relaxed) {
            let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            tracing::error!(cause, "{error}");
        }
    }

    /// Runs `work` on the database, which nobody closes meanwhile.
    fn on<T>(&self, work: impl FnOnce(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let done = loop {
            let opened = self.database.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(database) = &*opened {
                break work(database);
            }
            drop(opened);
            let mut closed = self.database.write().unwrap_or_else(PoisonError::into_inner);
            if closed.is_none() {
                *closed = Some(self.opened()?);
            }
        };
        if let Err(StoreError::Failed(error)) = &done
            && has_closed(error)
        {
            *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        done
    }

    fn opened(&self) -> Result<Database, StoreError> {
        let unusable = |source| StoreError::Unusable { folder: self.folder.clone(), source };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| unusable(error.into()))?;
        // Made here and not by the database, for the mode.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.folder.join(FILE)).map_err(|error| unusable(error.into()))?;
        begin_anew(&file).map_err(|error| unusable(error.into()))?;
        match Database::builder().create_file(file) {
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => Err(StoreError::InUse(self.folder.clone())),
            opened => opened.map_err(|error| unusable(error.into())),
        }
    }
}

/// Whether the database does nothing more after this.
fn has_closed(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseClosed)
}

/// Empties a file that was given its length and nothing else. A disk without room does that, and the database would take it
/// for a stranger's for ever.
fn begin_anew(file: &File) -> io::Result<()> {
    let mut head = [0; HEAD];
    // Who has the lock may be about to write.
    if file.try_lock().is_ok() {
        if file.read_exact_at(&mut head, 0).is_ok() && head == [0; HEAD] {
            file.set_len(0)?;
        }
        file.unlock()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
