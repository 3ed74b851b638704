//! The database for what plugins keep between calls: one file for all of them, made when it is first needed.
//!
//! A write is on the disk before it is reported, and a killed server loses none and breaks none.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use redb::Database;
use redb::backends::InMemoryBackend;

/// Longest key, bytes.
pub(super) const KEY: usize = 1_024;

/// The file in the state folder.
const FILE: &str = "plugins.redb";

/// The database, opened when it is first needed.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    database: OnceLock<Database>,
}

/// Why the store does not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("the state folder {} is in use by another process; stop it, or name another folder with `state` under [server]", .0.display())]
    InUse(PathBuf),
    /// It cannot be opened or made.
    #[error("the state folder {} cannot be used", folder.display())]
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
    /// The disk, or the file.
    #[error("the store failed; the server's log has the details")]
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
        Arc::new(Self { folder, database: OnceLock::new() })
    }

    /// A store that is gone with the process, for looking at plugins without changing what they keep.
    ///
    /// # Errors
    /// Never, as far as the database promises.
    pub fn in_memory() -> Result<Arc<Self>, StoreError> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
        Ok(Arc::new(Self { folder: PathBuf::new(), database: OnceLock::from(database) }))
    }

    /// Opens the database now, to find out whether it can be.
    ///
    /// # Errors
    /// When the folder cannot be used, or another process uses it.
    pub fn open(&self) -> Result<(), StoreError> {
        self.database().map(|_| ())
    }

    pub(super) fn database(&self) -> Result<&Database, StoreError> {
        if let Some(database) = self.database.get() {
            return Ok(database);
        }
        let unusable = |source| StoreError::Unusable { folder: self.folder.clone(), source };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| unusable(error.into()))?;
        let file = self.folder.join(FILE);
        // Made here and not by the database, for the mode.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(file).map_err(|error| unusable(error.into()))?;
        match Database::builder().create_file(file) {
            Ok(database) => Ok(self.database.get_or_init(|| database)),
            // Another thread was quicker.
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => {
                self.database.get().ok_or_else(|| StoreError::InUse(self.folder.clone()))
            }
            Err(error) => Err(unusable(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_in_the_folder_is_named_as_the_fault() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (Store::new(dir.path().to_owned()), Store::new(dir.path().to_owned()));
        first.open().unwrap();
        assert!(matches!(second.open(), Err(StoreError::InUse(_))));
        let mode = dir.path().join(FILE).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(first);
        second.open().unwrap();
        drop(second);
        std::fs::write(dir.path().join(FILE), b"this is not a database at all").unwrap();
        assert!(matches!(Store::new(dir.path().to_owned()).open(), Err(StoreError::Unusable { .. })));
    }
}
