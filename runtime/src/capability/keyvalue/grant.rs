//! `kv`: keeping values between calls. `true`, or `{ quota_mib = 16, per = "caller" }`; on the command line `kv`,
//! `kv=MIB` or `kv=MIB,per=caller`.

use std::path::Path;

use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader};

/// The quota of a grant without one, MiB.
const DEFAULT_MIB: u64 = 16;

/// The largest quota, MiB.
const MAX_MIB: u64 = 65_536;

/// All callers of a plugin together may keep this many times the quota of one. An operator who needs more raises
/// `quota_mib`:
/// no key sets this number.
const FULL_CALLERS: u64 = 64;

/// The key-value store, as it is granted to one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvGrant {
    /// How much it may keep in one store, MiB.
    pub quota_mib: u64,
    /// Who has a store.
    pub per: KvPer,
}

/// Who has a store of a plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KvPer {
    /// The plugin: all callers share it.
    #[default]
    Plugin,
    /// Each caller of the plugin.
    Caller,
}

impl KvGrant {
    /// How much all callers of a plugin may keep together where each has a store, MiB.
    #[must_use]
    pub fn all_callers_mib(self) -> u64 {
        self.quota_mib.saturating_mul(FULL_CALLERS)
    }
}

impl Default for KvGrant {
    fn default() -> Self {
        Self { quota_mib: DEFAULT_MIB, per: KvPer::Plugin }
    }
}

impl KvPer {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "plugin" => Some(Self::Plugin),
            "caller" => Some(Self::Caller),
            _ => None,
        }
    }

    fn read(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let per = Self::parse(&entry.string(reader)?);
        if per.is_none() {
            reader.report(entry.span.clone(), &entry.key, "must be \"plugin\" or \"caller\"");
        }
        per
    }
}

/// `None` when the store is not granted.
pub(crate) type Granted = Option<KvGrant>;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["kv"];
    const FORMS: &'static [&'static str] = &["kv", "kv=MIB", "kv=MIB,per=caller"];
    const IMPORTS: &'static [Import] = &[Import::new("wasi:keyvalue/", "values kept between calls")];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        *self = read_grant(entry, reader);
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        *self = Some(parse_grant(option.value).map_err(|why| option.error(why))?);
        Ok(())
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        let sentence = |grant: KvGrant| match grant.per {
            KvPer::Plugin => format!("keep up to {} MiB between calls", grant.quota_mib),
            KvPer::Caller => format!(
                "keep up to {} MiB between calls for each caller, and {} MiB for all",
                grant.quota_mib,
                grant.all_callers_mib()
            ),
        };
        sentences.extend(self.map(|grant| ("kv", sentence(grant))));
    }

    /// The plugin's store and those of its callers are different stores, so neither grant has all of the other.
    fn is_subset_of(&self, other: &Self) -> bool {
        match (self, other) {
            (None, _) => true,
            (Some(own), Some(wider)) => own.per == wider.per && own.quota_mib <= wider.quota_mib,
            (Some(_), None) => false,
        }
    }
}

fn read_grant(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<KvGrant> {
    if entry.is_boolean() {
        return entry.boolean(reader)?.then(KvGrant::default);
    }
    let mut table = entry.table(reader)?;
    let quota_mib = match table.take("quota_mib") {
        None => Some(DEFAULT_MIB),
        Some(entry) => entry.number(1, MAX_MIB, reader),
    };
    let per = match table.take("per") {
        None => Some(KvPer::default()),
        Some(entry) => KvPer::read(&entry, reader),
    };
    table.finish(reader, &["quota_mib", "per"]);
    Some(KvGrant { quota_mib: quota_mib?, per: per? })
}

/// The same from the command line, where no text means the default quota.
fn parse_grant(text: &str) -> Result<KvGrant, String> {
    if text.is_empty() {
        return Ok(KvGrant::default());
    }
    let (quota, per) = match text.split_once(',') {
        None => (text, Some(KvPer::default())),
        Some((quota, per)) => (quota, per.strip_prefix("per=").and_then(KvPer::parse)),
    };
    let per = per.ok_or("write kv, kv=MIB or kv=MIB,per=caller")?;
    let quota_mib = quota.parse().ok().filter(|mib| (1..=MAX_MIB).contains(mib));
    let quota_mib = quota_mib.ok_or_else(|| format!("the quota is a number of MiB from 1 to {MAX_MIB}"))?;
    Ok(KvGrant { quota_mib, per })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> KvGrant {
        parse_grant(text).unwrap()
    }

    #[test]
    fn the_short_form_names_quota_and_owner() {
        assert_eq!((grant(""), grant("16")), (KvGrant::default(), KvGrant::default()));
        assert_eq!(grant("2,per=caller"), KvGrant { quota_mib: 2, per: KvPer::Caller });
        assert_eq!(grant("2,per=plugin"), KvGrant { quota_mib: 2, per: KvPer::Plugin });
        for wrong in ["2,", "2,caller", "2,per=all", "2,per=caller,", ",per=caller", "0,per=caller", "65537"]
        {
            assert!(parse_grant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn neither_kind_of_store_is_a_part_of_the_other() {
        let within = |own: &str, other: &str| Some(grant(own)).is_subset_of(&Some(grant(other)));
        assert!(within("2,per=caller", "3,per=caller") && !within("3,per=caller", "2,per=caller"));
        assert!(!within("2", "3,per=caller") && !within("2,per=caller", "3"));
        assert!(Granted::None.is_subset_of(&Some(grant("2,per=caller"))));
        assert!(!Some(grant("2,per=caller")).is_subset_of(&None));
    }

    #[test]
    fn the_two_grants_never_read_alike() {
        let told = |text: &str| {
            let mut sentences = Vec::new();
            Some(grant(text)).describe(&|path: &Path| path.display().to_string(), &mut sentences);
            sentences.remove(0).1
        };
        assert_eq!(told("2"), "keep up to 2 MiB between calls");
        assert_eq!(
            told("2,per=caller"),
            "keep up to 2 MiB between calls for each caller, and 128 MiB for all"
        );
    }
}
