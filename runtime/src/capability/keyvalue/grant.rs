//! `kv`: keeping values between calls. `true`, or `{ quota_mib = 16 }`; on the command line `kv` or `kv=MIB`.

use std::path::Path;

use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader};

/// The quota of a grant without one, MiB.
const DEFAULT_MIB: u64 = 16;

/// The largest quota, MiB.
const MAX_MIB: u64 = 65_536;

/// The key-value store, as it is granted to one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvGrant {
    /// How much it may keep, MiB.
    pub quota_mib: u64,
}

/// `None` when the store is not granted.
pub(crate) type Granted = Option<KvGrant>;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["kv"];
    const FORMS: &'static [&'static str] = &["kv", "kv=MIB"];
    const IMPORTS: &'static [Import] = &[Import::new("wasi:keyvalue/", "values kept between calls")];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        *self = read_quota(entry, reader).map(|quota_mib| KvGrant { quota_mib });
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        let quota_mib = parse_quota(option.value).map_err(|why| option.error(why))?;
        *self = Some(KvGrant { quota_mib });
        Ok(())
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        sentences.extend(
            self.map(|KvGrant { quota_mib }| ("kv", format!("keep up to {quota_mib} MiB between calls"))),
        );
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.map(|own| own.quota_mib) <= other.map(|wider| wider.quota_mib)
    }
}

fn read_quota(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<u64> {
    if entry.is_boolean() {
        return entry.boolean(reader)?.then_some(DEFAULT_MIB);
    }
    let mut table = entry.table(reader)?;
    let quota = match table.take("quota_mib") {
        None => DEFAULT_MIB,
        Some(entry) => entry.number(1, MAX_MIB, reader)?,
    };
    table.finish(reader, &["quota_mib"]);
    Some(quota)
}

/// The same from the command line, where no text means the default quota.
fn parse_quota(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(DEFAULT_MIB);
    }
    let quota = text.parse().ok().filter(|mib| (1..=MAX_MIB).contains(mib));
    quota.ok_or_else(|| format!("the quota is a number of MiB from 1 to {MAX_MIB}"))
}
