//! `kv`: keeping values between calls. `true`, or `{ quota_mib = 16 }`; on the command line `kv` or `kv=MIB`.

use super::super::toml_reader::{TomlEntry, TomlReader};

/// What a plugin may keep when nothing else is said, MiB.
const USUAL_MIB: u64 = 16;

/// The most that any plugin may keep, MiB.
const MOST_MIB: u64 = 65_536;

/// The quota in MiB; `None` when the store is not granted.
pub(super) fn read(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<u64> {
    if entry.is_boolean() {
        return entry.boolean(reader)?.then_some(USUAL_MIB);
    }
    let mut table = entry.table(reader)?;
    let quota = match table.take("quota_mib") {
        None => USUAL_MIB,
        Some(entry) => entry.number(1, MOST_MIB, reader)?,
    };
    table.finish(reader, &["quota_mib"]);
    Some(quota)
}

/// The same from the command line, where nothing means the usual quota.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(USUAL_MIB);
    }
    let quota = text.parse().ok().filter(|mib| (1..=MOST_MIB).contains(mib));
    quota.ok_or_else(|| format!("the quota is a number of MiB from 1 to {MOST_MIB}"))
}
