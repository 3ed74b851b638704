//! `sampling`: client requests to the client's model. `true`, or `{ calls_per_hour = 60, tokens_per_hour = 100000 }`; on
//! the command line `sampling`.

use std::path::Path;

use crate::capability::client_requests::grant::REQUESTS;
use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader};

/// What all calls of a plugin together may spend in an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingGrant {
    /// Sampling requests.
    pub calls_per_hour: u64,
    /// Tokens: the `maxTokens` of the requests, and their own text.
    pub tokens_per_hour: u64,
}

impl Default for SamplingGrant {
    fn default() -> Self {
        Self { calls_per_hour: 60, tokens_per_hour: 100_000 }
    }
}

/// Hard maxima.
const MAX_CALLS: u64 = 1_000_000;
const MAX_TOKENS: u64 = 10_000_000_000;

/// `None` when it is not granted.
pub(crate) type Granted = Option<SamplingGrant>;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["sampling"];
    const FORMS: &'static [&'static str] = &["sampling"];
    const IMPORTS: &'static [Import] =
        &[Import::new("plugport:plugin/sampling", "the client's model"), REQUESTS];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        *self = read_hourly(entry, reader);
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        option.check_bare()?;
        *self = Some(self.unwrap_or_default());
        Ok(())
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        sentences.extend(self.map(|SamplingGrant { calls_per_hour, tokens_per_hour }| {
            let hourly = format!("{calls_per_hour} times and for {tokens_per_hour} tokens an hour");
            ("sampling", format!("ask the client's model {hourly}"))
        }));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.is_none_or(|own| {
            other.is_some_and(|SamplingGrant { calls_per_hour, tokens_per_hour }| {
                own.calls_per_hour <= calls_per_hour && own.tokens_per_hour <= tokens_per_hour
            })
        })
    }
}

fn read_hourly(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<SamplingGrant> {
    let mut grant = SamplingGrant::default();
    if entry.is_boolean() {
        return entry.boolean(reader)?.then_some(grant);
    }
    let mut table = entry.table(reader)?;
    for (key, max, field) in [
        ("calls_per_hour", MAX_CALLS, &mut grant.calls_per_hour),
        ("tokens_per_hour", MAX_TOKENS, &mut grant.tokens_per_hour),
    ] {
        if let Some(value) = table.take_number(key, 1, max, reader) {
            *field = value;
        }
    }
    table.finish(reader, &["calls_per_hour", "tokens_per_hour"]);
    Some(grant)
}
