//! Deletes everything that one caller has stored through any plugin, for an operator who removes that caller.

use redb::{ReadableTable as _, Table, WriteTransaction};

use super::database::{KvDatabase, KvError};
use super::owner::{ALL_CALLERS_USED, CALLER_USED, CALLER_VALUES, caller_suffix, set_used, used_by};

/// A store of a caller that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeletedStore {
    pub(crate) plugin: String,
    /// How many bytes of its quota it used.
    pub(crate) bytes: u64,
}

impl KvDatabase {
    /// Deletes the stores of the caller with this name, in one transaction. Blocks.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub(crate) fn forget_caller(&self, caller: &str) -> Result<Vec<DeletedStore>, KvError> {
        let suffix = caller_suffix(caller);
        self.write(|redb| {
            let write = redb.begin_write()?;
            let deleted = delete(&write, &suffix)?;
            write.commit()?;
            Ok(deleted)
        })
    }
}

fn delete(write: &WriteTransaction, suffix: &str) -> Result<Vec<DeletedStore>, KvError> {
    let mut used = write.open_table(CALLER_USED)?;
    let mut all_used = write.open_table(ALL_CALLERS_USED)?;
    let mut values = write.open_table(CALLER_VALUES)?;
    let stores = stores(&used, suffix)?;
    for DeletedStore { plugin, bytes } in &stores {
        let id = format!("{plugin}{suffix}");
        // No text sorts between an id and the same id followed by a zero byte.
        let next = format!("{id}\0");
        values.retain_in((&*id, "")..(&*next, ""), |_, _| false)?;
        set_used(&mut used, &id, 0)?;
        let of_others = used_by(&all_used, plugin)?.saturating_sub(*bytes);
        set_used(&mut all_used, plugin, of_others)?;
    }
    Ok(stores)
}

/// The stores whose ids have this suffix. There is one store for each caller of each plugin.
fn stores(used: &Table<'_, &'static str, u64>, suffix: &str) -> Result<Vec<DeletedStore>, KvError> {
    let mut stores = Vec::new();
    for entry in used.iter()? {
        let (id, bytes) = entry?;
        if let Some(plugin) = id.value().strip_suffix(suffix) {
            stores.push(DeletedStore { plugin: plugin.to_owned(), bytes: bytes.value() });
        }
    }
    Ok(stores)
}
