//! The owner of a bucket's keys: a plugin, or one caller of a plugin.
//!
//! Plugins and callers have separate tables, so neither a chosen name nor a changed grant can lead from one store to
//! another. A caller's name may have hundreds of bytes, which an identity provider or its user chose. So the tables
//! contain the SHA-256 of the name, after the plugin's name and a slash. No plugin's name contains a slash, and the
//! digest always has the same length.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use redb::{ReadableTable as _, Table, TableDefinition};
use sha2::{Digest as _, Sha256};

use super::database::KvError;

/// A table of values by owner and key.
pub(super) type Values = TableDefinition<'static, (&'static str, &'static str), &'static [u8]>;

/// A table of the used bytes of a quota by owner. An owner that stores nothing has no entry.
pub(super) type Used = TableDefinition<'static, &'static str, u64>;

/// The keys of plugins.
const PLUGIN_VALUES: Values = TableDefinition::new("values");

/// The used bytes of each plugin's quota.
pub(super) const PLUGIN_USED: Used = TableDefinition::new("used");

/// The keys of callers.
pub(super) const CALLER_VALUES: Values = TableDefinition::new("caller_values");

/// The used bytes of the quota of each caller of each plugin.
pub(super) const CALLER_USED: Used = TableDefinition::new("caller_used");

/// The bytes that all callers of a plugin use together, by the plugin's name.
pub(super) const ALL_CALLERS_USED: Used = TableDefinition::new("all_callers_used");

/// Bytes of the quota that an entry takes besides its key and value, so that many small entries cannot fill a disk.
pub(super) const ENTRY: u64 = 64;

/// Like [`ENTRY`], for an entry of a caller, which also contains the caller's digest.
pub(super) const CALLER_ENTRY: u64 = 128;

/// The owner of a bucket's keys.
#[derive(Debug, Clone)]
pub(super) struct KvOwner {
    /// The first part of the keys in the tables.
    pub(super) id: Arc<str>,
    /// For a caller: the plugin, whose callers share a quota. `None` if the owner is a plugin.
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

    /// Bytes of the quota that an entry takes besides its key and value.
    pub(super) fn entry(&self) -> u64 {
        if self.plugin_of_caller.is_some() { CALLER_ENTRY } else { ENTRY }
    }
}

/// The part of a caller's ids after the plugin's name.
pub(super) fn caller_suffix(caller: &str) -> String {
    format!("/{}", HEXLOWER.encode(&Sha256::digest(caller.as_bytes())))
}

/// Returns how many bytes an owner uses.
pub(super) fn used_by(table: &Table<'_, &'static str, u64>, id: &str) -> Result<u64, KvError> {
    Ok(table.get(id)?.map_or(0, |used| used.value()))
}

/// Sets how many bytes an owner uses.
pub(super) fn set_used(table: &mut Table<'_, &'static str, u64>, id: &str, used: u64) -> Result<(), KvError> {
    if used == 0 {
        table.remove(id)?;
    } else {
        table.insert(id, used)?;
    }
    Ok(())
}
