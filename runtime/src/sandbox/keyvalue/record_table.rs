//! Records of the server itself, in tables beside those of plugins: a small head and a body of any size by an id, and
//! the key of these tables.
//!
//! Head and body have tables of their own, because redb reads whole values: all heads are read when the server learns
//! which records there are, and a body only for whoever wants it. A write is on the disk when it returns, as for
//! plugins. All functions here block.

use std::sync::Arc;

use redb::{Database, ReadOnlyTable, ReadableDatabase as _, ReadableTable as _, TableDefinition, TableError};

use super::database::{KvDatabase, KvError};

type Records = TableDefinition<'static, &'static [u8], &'static [u8]>;

type OpenRecords = ReadOnlyTable<&'static [u8], &'static [u8]>;

const HEADS: Records = TableDefinition::new("record_heads");

/// A record without an entry here has no body.
const BODIES: Records = TableDefinition::new("record_bodies");

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

    /// Whether there is a database, which may have records. Otherwise the first use creates it.
    pub(crate) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// The key of the table; `None` before [`Self::make_key`].
    ///
    /// # Errors
    /// When the database cannot be opened or read.
    pub(crate) fn key(&self) -> Result<Option<[u8; 32]>, KvError> {
        self.0.read(|redb| match redb.begin_read()?.open_table(KEYS) {
            Ok(keys) => Ok(keys.get(KEY)?.and_then(|stored| stored.value().try_into().ok())),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// The key of the table: `new` on first use, and the same ever after.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub(crate) fn make_key(&self, new: [u8; 32]) -> Result<[u8; 32], KvError> {
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

    /// The head of a record; `None` if there is none.
    ///
    /// # Errors
    /// When the database cannot be opened or read.
    pub(crate) fn head(&self, id: &RecordId) -> Result<Option<Vec<u8>>, KvError> {
        self.get(HEADS, id)
    }

    /// The body of a record; `None` if it has none.
    ///
    /// # Errors
    /// When the database cannot be opened or read.
    pub(crate) fn body(&self, id: &RecordId) -> Result<Option<Vec<u8>>, KvError> {
        self.get(BODIES, id)
    }

    fn get(&self, table: Records, id: &RecordId) -> Result<Option<Vec<u8>>, KvError> {
        self.0.read(|redb| {
            let Some(records) = open(redb, table)? else { return Ok(None) };
            Ok(records.get(id.as_slice())?.map(|record| record.value().to_vec()))
        })
    }

    /// Stores a record, or replaces it.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub(crate) fn put(&self, id: &RecordId, head: &[u8], body: Option<&[u8]>) -> Result<(), KvError> {
        self.0.write(|redb| {
            let write = redb.begin_write()?;
            write.open_table(HEADS)?.insert(id.as_slice(), head)?;
            if let Some(body) = body {
                write.open_table(BODIES)?.insert(id.as_slice(), body)?;
            }
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
                let (mut heads, mut bodies) = (write.open_table(HEADS)?, write.open_table(BODIES)?);
                for id in ids {
                    heads.remove(id.as_slice())?;
                    bodies.remove(id.as_slice())?;
                }
            }
            write.commit()?;
            Ok(())
        })
    }

    /// What `read` makes of the head of each record.
    ///
    /// # Errors
    /// When the database cannot be opened or read.
    pub(crate) fn read_heads<T>(&self, read: impl Fn(RecordId, &[u8]) -> T) -> Result<Vec<T>, KvError> {
        self.0.read(|redb| {
            let Some(heads) = open(redb, HEADS)? else { return Ok(Vec::new()) };
            let mut all = Vec::new();
            for entry in heads.iter()? {
                let (id, head) = entry?;
                if let Ok(id) = id.value().try_into() {
                    all.push(read(id, head.value()));
                }
            }
            Ok(all)
        })
    }
}

/// A table as it is now; `None` if nothing has been stored in it.
fn open(redb: &Database, table: Records) -> Result<Option<OpenRecords>, KvError> {
    match redb.begin_read()?.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
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
        assert!(!table.exists());
        assert_eq!((table.head(&[1; 16]).unwrap(), table.key().unwrap()), (None, None));
        assert!(table.exists() && table.read_heads(|_, _| ()).unwrap().is_empty());
        assert_eq!(table.make_key([7; 32]).unwrap(), [7; 32]);
        table.put(&[1; 16], b"a", None).unwrap();
        table.put(&[2; 16], b"b", Some(b"body of b")).unwrap();
        table.put(&[1; 16], b"c", Some(b"body of c")).unwrap();
        drop(table);
        let table = open();
        assert_eq!((table.key().unwrap(), table.make_key([8; 32]).unwrap()), (Some([7; 32]), [7; 32]));
        assert_eq!(table.read_heads(|id, head| (id[0], head[0])).unwrap(), [(1, b'c'), (2, b'b')]);
        table.delete(&[[1; 16], [3; 16]]).unwrap();
        assert_eq!((table.head(&[1; 16]).unwrap(), table.body(&[1; 16]).unwrap()), (None, None));
        assert_eq!(table.body(&[2; 16]).unwrap(), Some(b"body of b".to_vec()));
    }
}
