//! Whose keys a bucket has: those of a plugin, or those of one caller of a plugin.
//!
//! The two have tables of their own, so no name of a plugin or a caller, and no change of the grant, leads from the
//! store of one to the store of another. A caller's name has up to some hundred bytes which an identity provider or its
//! user chose. So the tables have the SHA-256 of the name, behind the plugin's name and a slash, which is in no name of
//! a plugin; the digest always has the same length.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use redb::{ReadableTable as _, Table, TableDefinition};
use sha2::{Digest as _, Sha256};

use super::kv_database::KvError;

/// Values by owner and key.
pub(super) type Values = TableDefinition<'static, (&'static str, &'static str), &'static [u8]>;

/// Bytes of a quota that are used, by owner. An owner that stores nothing has no entry.
pub(super) type Used = TableDefinition<'static, &'static str, u64>;

/// The keys of plugins.
const PLUGIN_VALUES: Values = TableDefinition::new("values");

/// What each plugin uses of its quota.
pub(super) const PLUGIN_USED: Used = TableDefinition::new("used");

/// The keys of callers.
pub(super) const CALLER_VALUES: Values = TableDefinition::new("caller_values");

/// What each caller of each plugin uses of its quota.
pub(super) const CALLER_USED: Used = TableDefinition::new("caller_used");

/// What all callers of a plugin use together, by the plugin's name.
pub(super) const ALL_CALLERS_USED: Used = TableDefinition::new("all_callers_used");

/// Bytes of the quota for an entry besides its key and value, so that many small entries cannot fill a disk.
pub(super) const ENTRY: u64 = 64;

/// The same for a caller's entry, which has the caller's digest too.
pub(super) const CALLER_ENTRY: u64 = 128;

/// Whose keys a bucket has.
#[derive(Debug, Clone)]
pub(super) struct KvOwner {
    /// The first part of the keys in the tables.
    pub(super) id: Arc<str>,
    /// The plugin whose callers share a quota; `None`: the plugin itself is the owner.
    pub(super) plugin_of_caller: Option<Arc<str>>,
}

impl KvOwner {
    pub(super) fn plugin(name: Arc<str>) -> Self {
        Self { id: name, plugin_of_caller: None }
    }

    pub(super) fn caller(plugin: Arc<str>, caller: &str) -> Self {
        Self { id: format!("{plugin}{}", caller_suffix(caller)).into(), plugin_of_caller: Some(plugin) }
    }

    pub(super) fn values(&self) -> Values {
        if self.plugin_of_caller.is_some() { CALLER_VALUES } else { PLUGIN_VALUES }
    }

    pub(super) fn used(&self) -> Used {
        if self.plugin_of_caller.is_some() { CALLER_USED } else { PLUGIN_USED }
    }

    /// Bytes of the quota for an entry besides its key and value.
    pub(super) fn entry(&self) -> u64 {
        if self.plugin_of_caller.is_some() { CALLER_ENTRY } else { ENTRY }
    }
}

/// What the ids of this caller have behind the name of the plugin.
pub(super) fn caller_suffix(caller: &str) -> String {
    format!("/{}", HEXLOWER.encode(&Sha256::digest(caller.as_bytes())))
}

/// Bytes that an owner uses.
pub(super) fn used_by(table: &Table<'_, &'static str, u64>, id: &str) -> Result<u64, KvError> {
    Ok(table.get(id)?.map_or(0, |used| used.value()))
}

/// Sets what an owner uses.
pub(super) fn set_used(table: &mut Table<'_, &'static str, u64>, id: &str, used: u64) -> Result<(), KvError> {
    if used == 0 {
        table.remove(id)?;
    } else {
        table.insert(id, used)?;
    }
    Ok(())
}
