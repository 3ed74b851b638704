//! `wasi:sockets` is never granted: a socket would bypass all checks of a request to a host. The grant is a unit
//! struct, and no key under `grants` leads to it.

use std::path::Path;

use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Granted;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &[];
    const FORMS: &'static [&'static str] = &[];
    const IMPORTS: &'static [Import] = &[Import::new("wasi:sockets/", "sockets")];

    fn read(&mut self, _: &str, _: TomlEntry<'_>, _: GrantContext<'_>, _: &mut TomlReader<'_>) {}

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        Err(option.error("sockets are never granted"))
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, _: &mut Vec<GrantSentence>) {}

    fn is_subset_of(&self, _: &Self) -> bool {
        true
    }
}
