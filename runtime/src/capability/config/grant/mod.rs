//! `config` and `secrets`: what a plugin may read through `wasi:config`. A name stands for a setting or for a secret,
//! never for both, since a plugin reads either by name alone.

mod secrets;
mod values;

use std::collections::BTreeMap;
use std::path::Path;

pub use secrets::{Secret, Secrets};

use crate::capability::grant_trait::{
    Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import, list,
};
use crate::toml_reader::{TomlEntry, TomlReader};

/// What one plugin may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// Settings, by key.
    pub values: BTreeMap<String, String>,
    /// Secrets, which are listed nowhere and redacted in the plugin's log.
    pub secrets: Secrets,
}

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["config", "secrets"];
    const FORMS: &'static [&'static str] =
        &["config=KEY=VALUE", "secret=NAME=env:VARIABLE", "secret=NAME=file:PATH"];
    const IMPORTS: &'static [Import] = &[Import::new("wasi:config/", "settings and secrets")];

    fn read(
        &mut self,
        key: &str,
        entry: TomlEntry<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) {
        match key {
            "config" => values::read(entry, &mut self.values, reader),
            _ => self.secrets.read(entry, &self.values, context, reader),
        }
    }

    fn add(&mut self, option: GrantOption<'_>, context: GrantContext<'_>) -> Result<(), GrantError> {
        let added = match option.name {
            "config" => values::parse(option.value, &mut self.values),
            _ => self.secrets.parse(option.value, &self.values, context),
        };
        added.map_err(|why| option.error(why))
    }

    fn describe(&self, shown: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        sentences.extend(list("config", "read the settings", self.values.keys().cloned()));
        let secrets = self.secrets.iter().map(|(name, secret)| match secret.file() {
            Some(file) => format!("{name} from the file {}", shown(file)),
            None => format!("{name} from {}", secret.source()),
        });
        sentences.extend(list("secrets", "read the secrets", secrets));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        let values = self.values.keys().all(|key| other.values.contains_key(key));
        values && self.secrets.iter().all(|(name, _)| other.secrets.get(name).is_some())
    }

    fn warnings(&self) -> Vec<String> {
        let world_readable = self.secrets.iter().filter(|(_, secret)| secret.is_world_readable());
        let warning = |(name, secret): (&str, &Secret)| {
            let source = secret.source();
            format!(
                "{source}, which holds the secret `{name}`, can be read by every user; change its mode to 0600"
            )
        };
        world_readable.map(warning).collect()
    }
}
