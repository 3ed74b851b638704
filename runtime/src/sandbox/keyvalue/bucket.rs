//! A key-value bucket: the keys of one plugin, or of one caller of a plugin, within a quota.
//!
//! The callers of a plugin also have a common quota, so that many callers cannot fill the disk. Quotas are checked in
//! the transaction that writes, so concurrent calls cannot exceed them together. All functions here block and must be
//! called on a thread for blocking work.

use std::sync::Arc;

use redb::{ReadOnlyTable, Table, TableError, WriteTransaction};
use redb::{ReadableDatabase as _, ReadableTable as _};
use sha2::{Digest as _, Sha256};

use super::database::{KEY, KvDatabase, KvError};
use super::owner::{ALL_CALLERS_USED, KvOwner, set_used, used_by};

/// Maximum number of keys on one page of [`KvBucket::keys`].
const PAGE_KEYS: usize = 500;

/// The keys of one plugin, or of one caller of a plugin.
#[derive(Debug, Clone)]
pub(crate) struct KvBucket {
    database: Arc<KvDatabase>,
    owner: KvOwner,
    /// In bytes.
    quota: u64,
    /// What all callers of the plugin together may use, in bytes.
    callers_quota: u64,
}

/// How much callers of a plugin may store, in MiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerQuota {
    /// For each caller.
    pub(crate) each_mib: u64,
    /// For all callers together.
    pub(crate) all_mib: u64,
}

/// The table of values by owner and key, in one read transaction.
type KvTable = ReadOnlyTable<(&'static str, &'static str), &'static [u8]>;

/// Keys with values, `None` for each key that has no value.
pub(crate) type KeyValues = Vec<Option<(String, Vec<u8>)>>;

/// The digest of a key's value; `None` if the key has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueVersion(Option<[u8; 32]>);

impl ValueVersion {
    pub(crate) fn of(value: Option<&[u8]>) -> Self {
        Self(value.map(|value| Sha256::digest(value).into()))
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

impl KvBucket {
    /// The bucket of `plugin`, which may use `quota_mib`.
    pub(crate) fn new(database: Arc<KvDatabase>, plugin: Arc<str>, quota_mib: u64) -> Self {
        Self { database, owner: KvOwner::plugin(plugin), quota: quota_mib << 20, callers_quota: u64::MAX }
    }

    /// The bucket of `plugin` for the caller with this name.
    pub(crate) fn of_caller(
        database: Arc<KvDatabase>,
        plugin: Arc<str>,
        caller: &str,
        quota: CallerQuota,
    ) -> Self {
        let CallerQuota { each_mib, all_mib } = quota;
        let owner = KvOwner::caller(plugin, caller);
        Self { database, owner, quota: each_mib << 20, callers_quota: all_mib << 20 }
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        let value = self.read(|values| {
            let value = values.get((&*self.owner.id, key))?;
            Ok(value.map(|value| value.value().to_vec()))
        })?;
        Ok(value.flatten())
    }

    /// Runs `work` in a read transaction; `None` if nothing has ever been stored.
    fn read<T>(&self, work: impl Fn(&KvTable) -> Result<T, KvError>) -> Result<Option<T>, KvError> {
        self.database.read(|redb| match redb.begin_read()?.open_table(self.owner.values()) {
            Ok(values) => work(&values).map(Some),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// Returns a page of the keys after `cursor`, and the cursor of the next page.
    pub(crate) fn keys(&self, cursor: Option<&str>) -> Result<(Vec<String>, Option<String>), KvError> {
        Ok(self.read(|values| self.page(values, cursor))?.unwrap_or_default())
    }

    fn page(&self, values: &KvTable, cursor: Option<&str>) -> Result<(Vec<String>, Option<String>), KvError> {
        let mut keys = Vec::new();
        for entry in values.range((&*self.owner.id, cursor.unwrap_or_default())..)? {
            let (key, _) = entry?;
            let (owner, key) = key.value();
            if owner != &*self.owner.id {
                break;
            }
            if Some(key) == cursor {
                continue;
            }
            if keys.len() == PAGE_KEYS {
                return Ok((keys.clone(), keys.pop()));
            }
            keys.push(key.to_owned());
        }
        Ok((keys, None))
    }

    pub(crate) fn set_many(&self, entries: &[(String, Vec<u8>)]) -> Result<(), KvError> {
        self.write(|writer| entries.iter().try_for_each(|(key, value)| writer.set(key, value)))
    }

    pub(crate) fn delete_many(&self, keys: &[String]) -> Result<(), KvError> {
        self.write(|writer| keys.iter().try_for_each(|key| writer.delete(key)))
    }

    /// Returns the values of several keys, at most `max` bytes in total.
    pub(crate) fn get_many(&self, keys: &[String], max: usize) -> Result<KeyValues, KvError> {
        let values = self.read(|values| {
            let mut remaining = max;
            let values = keys.iter().map(|key| {
                let Some(guard) = values.get((&*self.owner.id, &**key))? else { return Ok(None) };
                let value = guard.value();
                remaining = remaining.checked_sub(value.len()).ok_or(KvError::TooMuch(max))?;
                Ok(Some((key.clone(), value.to_vec())))
            });
            values.collect()
        })?;
        Ok(values.unwrap_or_else(|| vec![None; keys.len()]))
    }

    /// Returns the version of a key's value, which is compared instead of the value.
    pub(crate) fn version(&self, key: &str) -> Result<ValueVersion, KvError> {
        Ok(ValueVersion::of(self.get(key)?.as_deref()))
    }

    /// Adds to a number that is stored as decimal digits.
    pub(crate) fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        self.write(|writer| {
            let old = match writer.get(key)? {
                None => 0,
                Some(bytes) => number(&bytes).ok_or(KvError::NotANumber)?,
            };
            let sum = old.checked_add(delta).ok_or(KvError::NotANumber)?;
            writer.set(key, sum.to_string().as_bytes()).map(|()| sum)
        })
    }

    /// Sets a key if its value still has the version `old`; otherwise returns the current version.
    pub(crate) fn swap(
        &self,
        key: &str,
        old: ValueVersion,
        new: &[u8],
    ) -> Result<Result<(), ValueVersion>, KvError> {
        self.write(|writer| {
            let now = ValueVersion::of(writer.get(key)?.as_deref());
            if now != old {
                return Ok(Err(now));
            }
            writer.set(key, new).map(Ok)
        })
    }

    /// Runs `work` in a write transaction.
    fn write<T>(
        &self,
        work: impl FnOnce(&mut KvTransaction<'_, '_>) -> Result<T, KvError>,
    ) -> Result<T, KvError> {
        self.database.write(|redb| {
            let write = redb.begin_write()?;
            let outcome = self.change(&write, work)?;
            write.commit()?;
            Ok(outcome)
        })
    }

    /// The part of `write` before the commit.
    fn change<T>(
        &self,
        write: &WriteTransaction,
        work: impl FnOnce(&mut KvTransaction<'_, '_>) -> Result<T, KvError>,
    ) -> Result<T, KvError> {
        let id = &*self.owner.id;
        let mut used_table = write.open_table(self.owner.used())?;
        let used = used_by(&used_table, id)?;
        let values = write.open_table(self.owner.values())?;
        let mut writer = KvTransaction { owner: id, entry: self.owner.entry(), values, used };
        let outcome = work(&mut writer)?;
        let after = writer.used;
        // If the operator has reduced the quota below what is used, the plugin may still delete.
        if after > self.quota && after > used {
            return Err(KvError::OverQuota(self.quota >> 20));
        }
        if let Some(plugin) = &self.owner.plugin_of_caller {
            self.count_for_all_callers(write, plugin, used, after)?;
        }
        set_used(&mut used_table, id, after)?;
        Ok(outcome)
    }

    /// Adds a change of this caller's use to the use of all callers of the plugin.
    fn count_for_all_callers(
        &self,
        write: &WriteTransaction,
        plugin: &str,
        before: u64,
        after: u64,
    ) -> Result<(), KvError> {
        let mut used_table = write.open_table(ALL_CALLERS_USED)?;
        let all = used_by(&used_table, plugin)?.saturating_sub(before).saturating_add(after);
        if all > self.callers_quota && after > before {
            return Err(KvError::OverTotal(self.callers_quota >> 20));
        }
        set_used(&mut used_table, plugin, all)
    }
}

/// The changes of one owner in a transaction.
struct KvTransaction<'t, 'o> {
    owner: &'o str,
    /// How many bytes of the quota an entry takes besides its key and value.
    entry: u64,
    values: Table<'t, (&'static str, &'static str), &'static [u8]>,
    used: u64,
}

impl KvTransaction<'_, '_> {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        Ok(self.values.get((self.owner, key))?.map(|value| value.value().to_vec()))
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), KvError> {
        if key.is_empty() || key.len() > KEY {
            return Err(KvError::Key);
        }
        let entry = self.entry;
        let size = |value: &[u8]| (key.len() + value.len()) as u64 + entry;
        let freed = self.values.insert((self.owner, key), value)?.map_or(0, |old| size(old.value()));
        self.used = self.used.saturating_sub(freed).saturating_add(size(value));
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Result<(), KvError> {
        if let Some(old) = self.values.remove((self.owner, key))? {
            self.used = self.used.saturating_sub((key.len() + old.value().len()) as u64 + self.entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod caller_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::keyvalue::owner::{ENTRY, PLUGIN_USED};
    use std::collections::BTreeMap;

    fn bucket(database: &Arc<KvDatabase>, plugin: &str) -> KvBucket {
        KvBucket::new(Arc::clone(database), plugin.into(), 1)
    }

    fn set(bucket: &KvBucket, key: &str, value: &[u8]) -> Result<(), KvError> {
        bucket.set_many(&[(key.to_owned(), value.to_vec())])
    }

    #[test]
    fn plugins_see_only_their_own_keys_even_when_their_names_begin_alike() {
        let dir = tempfile::tempdir().unwrap();
        let database = KvDatabase::new(dir.path().join("state"));
        let (a, ab) = (bucket(&database, "a"), bucket(&database, "ab"));
        set(&a, "b1", b"mine").unwrap();
        set(&ab, "1", b"other").unwrap();
        assert_eq!(a.get("b1").unwrap().unwrap(), b"mine");
        assert_eq!(a.get("1").unwrap(), None);
        assert_eq!(ab.keys(None).unwrap(), (vec!["1".to_owned()], None));
    }

    #[test]
    fn what_is_used_is_what_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let database = KvDatabase::new(dir.path().to_owned());
        let bucket = bucket(&database, "p");
        let mut model: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut seed = 7_u64;
        for _ in 0..120 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = format!("k{}", (seed >> 33) % 12);
            if (seed >> 40).is_multiple_of(3) {
                bucket.delete_many(std::slice::from_ref(&key)).unwrap();
                model.remove(&key);
            } else {
                let value = vec![1; usize::try_from((seed >> 20) % 900).unwrap()];
                set(&bucket, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
        let kept: u64 = model.iter().map(|(key, value)| (key.len() + value.len()) as u64 + ENTRY).sum();
        drop(bucket);
        let database = {
            drop(database);
            KvDatabase::new(dir.path().to_owned())
        };
        let used = database
            .read(|database| Ok(database.begin_read()?.open_table(PLUGIN_USED)?.get("p")?.unwrap().value()));
        assert_eq!(used.unwrap(), kept);
    }

    #[test]
    fn a_quota_holds_and_a_refused_write_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let database = KvDatabase::new(dir.path().to_owned());
        let bucket = bucket(&database, "p");
        set(&bucket, "half", &vec![0; 600 << 10]).unwrap();
        let rejected = bucket.set_many(&[("x".into(), vec![1]), ("more".into(), vec![0; 600 << 10])]);
        assert!(matches!(rejected, Err(KvError::OverQuota(1))));
        assert_eq!(bucket.get("x").unwrap(), None);
        let swapped = [("more".into(), vec![0; 600 << 10]), ("half".into(), vec![1])];
        bucket.set_many(&swapped).unwrap();
        bucket.delete_many(&["more".into()]).unwrap();
        let keys = ["half".to_owned(), "none".to_owned(), "half".to_owned()];
        assert_eq!(bucket.get_many(&keys, 2).unwrap().iter().flatten().count(), 2);
        assert!(matches!(bucket.get_many(&keys, 1), Err(KvError::TooMuch(1))));
        let nothing = KvBucket::new(KvDatabase::in_memory().unwrap(), "p".into(), 1);
        assert_eq!(nothing.get_many(&keys, 0).unwrap(), [None, None, None]);
        set(&bucket, "half", b"small").unwrap();
        set(&bucket, "more", &vec![0; 600 << 10]).unwrap();
        assert!(matches!(set(&bucket, &"k".repeat(KEY + 1), b""), Err(KvError::Key)));
        assert!(matches!(set(&bucket, "", b""), Err(KvError::Key)));
    }

    #[test]
    fn numbers_add_up_and_swaps_notice_others() {
        let dir = tempfile::tempdir().unwrap();
        let database = KvDatabase::new(dir.path().to_owned());
        let bucket = bucket(&database, "p");
        assert_eq!(bucket.increment("n", 5).unwrap(), 5);
        assert_eq!(bucket.increment("n", -7).unwrap(), -2);
        assert!(matches!(bucket.increment("n", i64::MIN), Err(KvError::NotANumber)));
        set(&bucket, "text", b"abc").unwrap();
        assert!(matches!(bucket.increment("text", 1), Err(KvError::NotANumber)));
        let old = bucket.version("text").unwrap();
        assert_eq!(bucket.swap("text", old, b"new").unwrap(), Ok(()));
        assert_eq!(bucket.swap("text", old, b"x").unwrap(), Err(ValueVersion::of(Some(b"new"))));
        assert_eq!(bucket.swap("fresh", ValueVersion::of(None), b"x").unwrap(), Ok(()));
        assert_eq!(bucket.get("n").unwrap().unwrap(), b"-2");
    }

    #[test]
    fn keys_come_in_pages() {
        let dir = tempfile::tempdir().unwrap();
        let database = KvDatabase::new(dir.path().to_owned());
        let bucket = bucket(&database, "p");
        assert_eq!(bucket.keys(None).unwrap(), (Vec::new(), None));
        let entries: Vec<_> = (0..2 * PAGE_KEYS + 3).map(|at| (format!("{at:05}"), Vec::new())).collect();
        bucket.set_many(&entries).unwrap();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let (keys, next) = bucket.keys(cursor.as_deref()).unwrap();
            seen.extend(keys);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert!(seen.iter().eq(entries.iter().map(|(key, _)| key)));
    }
}
