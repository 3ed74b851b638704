//! Records of the server itself, in a table beside those of plugins: bytes by an id, and the key of this table.
//!
//! A write is on the disk when it returns, as for plugins. All functions here block.

use std::sync::Arc;

use redb::{ReadableDatabase as _, ReadableTable as _, TableDefinition, TableError};

use super::database::{KvDatabase, KvError};

/// The records.
const RECORDS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");

/// Random bytes that were stored with the first record.
const KEYS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("record_keys");

/// The name of the only key.
const KEY: &str = "key";

/// The id of a record.
pub(crate) type RecordId = [u8; 16];

/// The table of records.
#[derive(Debug, Clone)]
pub(crate) struct RecordTable(Arc<KvDatabase>);

impl RecordTable {
    pub(crate) fn new(database: Arc<KvDatabase>) -> Self {
        Self(database)
    }

    /// The key of the table: `new` on first use, and the same ever after.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub(crate) fn key(&self, new: [u8; 32]) -> Result<[u8; 32], KvError> {
        self.0.write(|redb| {
            let write = redb.begin_write()?;
            let key = {
                let mut keys = write.open_table(KEYS)?;
                let stored: Option<[u8; 32]> =
                    keys.get(KEY)?.and_then(|stored| stored.value().try_into().ok());
                if stored.is_none() {
                    keys.insert(KEY, new.as_slice())?;
                }
                stored.unwrap_or(new)
            };
            write.commit()?;
            Ok(key)
        })
    }

    /// # Errors
    /// When the database cannot be opened or read.
    pub(crate) fn get(&self, id: &RecordId) -> Result<Option<Vec<u8>>, KvError> {
        self.0.read(|redb| match redb.begin_read()?.open_table(RECORDS) {
            Ok(records) => Ok(records.get(id.as_slice())?.map(|record| record.value().to_vec())),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// Stores a record, or replaces it.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub(crate) fn put(&self, id: &RecordId, record: &[u8]) -> Result<(), KvError> {
        self.0.write(|redb| {
            let write = redb.begin_write()?;
            write.open_table(RECORDS)?.insert(id.as_slice(), record)?;
            write.commit()?;
            Ok(())
        })
    }

    /// Deletes records, in one transaction.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub(crate) fn delete(&self, ids: &[RecordId]) -> Result<(), KvError> {
        self.0.write(|redb| {
            let write = redb.begin_write()?;
            {
                let mut records = write.open_table(RECORDS)?;
                for id in ids {
                    records.remove(id.as_slice())?;
                }
            }
            write.commit()?;
            Ok(())
        })
    }

    /// What `read` makes of each record.
    ///
    /// # Errors
    /// When the database cannot be opened or read.
    pub(crate) fn read_all<T>(&self, read: impl Fn(RecordId, &[u8]) -> T) -> Result<Vec<T>, KvError> {
        self.0.read(|redb| {
            let records = match redb.begin_read()?.open_table(RECORDS) {
                Ok(records) => records,
                Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            };
            let mut all = Vec::new();
            for entry in records.iter()? {
                let (id, record) = entry?;
                if let Ok(id) = id.value().try_into() {
                    all.push(read(id, record.value()));
                }
            }
            Ok(all)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_their_key_outlive_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let open = || RecordTable::new(KvDatabase::new(dir.path().to_owned()));
        let table = open();
        assert_eq!(table.get(&[1; 16]).unwrap(), None);
        assert!(table.read_all(|_, _| ()).unwrap().is_empty());
        assert_eq!(table.key([7; 32]).unwrap(), [7; 32]);
        table.put(&[1; 16], b"a").unwrap();
        table.put(&[2; 16], b"b").unwrap();
        table.put(&[1; 16], b"c").unwrap();
        drop(table);
        let table = open();
        assert_eq!(table.key([8; 32]).unwrap(), [7; 32]);
        assert_eq!(table.read_all(|id, record| (id[0], record[0])).unwrap(), [(1, b'c'), (2, b'b')]);
        table.delete(&[[1; 16], [3; 16]]).unwrap();
        assert_eq!((table.get(&[1; 16]).unwrap(), table.get(&[2; 16]).unwrap()), (None, Some(b"b".to_vec())));
    }
}
