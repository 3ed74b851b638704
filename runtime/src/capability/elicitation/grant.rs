//! `elicitation`: client requests to the user at the client. `true`; on the command line `elicitation`.

use std::path::Path;

use crate::capability::client_requests::grant::REQUESTS;
use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Whether a plugin may send elicitation requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Granted(pub bool);

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["elicitation"];
    const FORMS: &'static [&'static str] = &["elicitation"];
    const IMPORTS: &'static [Import] =
        &[Import::new("plugport:plugin/elicitation", "the user at the client"), REQUESTS];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        self.0 = entry.boolean(reader).unwrap_or_default();
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        option.check_bare()?;
        self.0 = true;
        Ok(())
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        sentences.extend(self.0.then(|| ("elicitation", "ask the user at the client".to_owned())));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        !self.0 || other.0
    }
}
