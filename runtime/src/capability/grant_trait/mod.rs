//! `Grant`: how each capability reads, describes and compares its own grant, so that no other module knows its form;
//! and what the `grant.rs` of all capabilities share. They use this module, which uses none of them.
//! [`Grants`](super::plugin_grants::Grants), above them, has all grants of one plugin.

mod protected_paths;

use std::path::{Path, PathBuf};

pub use protected_paths::ProtectedPaths;
pub(crate) use protected_paths::resolved;

use crate::toml_reader::{TomlEntry, TomlReader, TomlTable};

/// What one plugin is granted of one capability. The default is nothing.
pub(crate) trait Grant: Default {
    /// Its keys under `[plugins.NAME.grants]`, in the order in which they are read.
    const KEYS: &'static [&'static str];

    /// The forms of `--grant`. Empty for what is never granted.
    const FORMS: &'static [&'static str];

    /// The imports that it opens.
    const IMPORTS: &'static [Import];

    /// Reads the value of one of the keys. A wrong value is reported and grants nothing.
    fn read(
        &mut self,
        key: &str,
        entry: TomlEntry<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    );

    /// Adds the grant of one `--grant`.
    ///
    /// # Errors
    /// When it has none of the forms, or names what is never granted.
    fn add(&mut self, option: GrantOption<'_>, context: GrantContext<'_>) -> Result<(), GrantError>;

    /// Adds a sentence for each thing that is granted. `shown` writes a path. No sentence has a value of a variable, a
    /// setting or a secret, and no two grants read alike.
    fn describe(&self, shown: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>);

    /// Whether `other` grants all of this too. Values that only the plugin sees do not count: a changed one revokes
    /// nothing.
    fn is_subset_of(&self, other: &Self) -> bool;

    /// Warnings about what will not work as the operator may expect, one sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether this grant opens the imports of this prefix.
    fn opens(&self, prefix: &str) -> bool {
        Self::IMPORTS.iter().any(|import| import.prefix == prefix)
    }

    /// Reads every key of this capability.
    fn read_keys(
        &mut self,
        from: &mut TomlTable<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) {
        for key in Self::KEYS {
            if let Some(entry) = from.take(key) {
                self.read(key, entry, context, reader);
            }
        }
    }

    /// Whether `--grant` of this name is for this grant: one of its forms begins so.
    fn is_named(name: &str) -> bool {
        Self::FORMS.iter().any(|form| form.split('=').next() == Some(name))
    }
}

/// One grant: its key, and what the plugin may do with it.
pub type GrantSentence = (&'static str, String);

/// A grant of several things by name; never their values.
pub(crate) fn list(
    key: &'static str,
    may: &str,
    names: impl Iterator<Item = String>,
) -> Option<GrantSentence> {
    let names: Vec<_> = names.collect();
    (!names.is_empty()).then(|| (key, format!("{may} {}", names.join(", "))))
}

/// Imports of a plugin that lead to one thing outside the sandbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Imports that begin like this.
    pub(crate) prefix: &'static str,
    /// What it is, in words.
    pub(crate) what: &'static str,
    /// Whether every language's standard library imports it. Then it is shown only when it is granted.
    pub(crate) is_common: bool,
}

impl Import {
    /// Imports that not every standard library has.
    pub(crate) const fn new(prefix: &'static str, what: &'static str) -> Self {
        Self { prefix, what, is_common: false }
    }
}

/// One `--grant` of the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantOption<'a> {
    text: &'a str,
    /// What stands before the first `=`.
    pub(crate) name: &'a str,
    /// What stands after it.
    pub(crate) value: &'a str,
}

impl<'a> GrantOption<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Self { text, name, value }
    }

    /// Whether it is a name alone.
    pub(crate) fn is_bare(self) -> bool {
        self.text == self.name
    }

    /// Checks that it is a name alone, for a grant that has no value.
    pub(crate) fn check_bare(self) -> Result<(), GrantError> {
        if self.is_bare() { Ok(()) } else { Err(self.error(format!("write {} alone", self.name))) }
    }

    /// The error for an option that cannot be read; `why` says what to write instead.
    pub(crate) fn error(self, why: impl Into<String>) -> GrantError {
        GrantError::Form { grant: self.text.to_owned(), why: why.into() }
    }
}

/// Where grants are written: what their paths are relative to, and what no guest may have.
#[derive(Debug, Clone, Copy)]
pub struct GrantContext<'a> {
    /// Relative paths begin here.
    pub base: &'a Path,
    /// What no guest may write or read.
    pub protected: &'a ProtectedPaths,
}

/// Why something cannot be granted.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// It is not there, or not a directory.
    #[error("cannot grant {}: {reason}; name a directory that exists", path.display())]
    Missing {
        /// As it was written.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A directory that is never granted.
    #[error("cannot grant {}: {why}; grant a directory further down", path.display())]
    Protected {
        /// The resolved path.
        path: PathBuf,
        /// Which rule.
        why: String,
    },
    /// The guest's path is not usable.
    #[error("guest path `{0}` must be absolute and plain, such as /data")]
    GuestPath(String),
    /// Two grants under one guest path.
    #[error("guest path `{0}` is granted twice; give each directory a path of its own")]
    Twice(String),
    /// The short form could not be read.
    #[error("cannot read the grant `{grant}`: {why}")]
    Form {
        /// As it was written.
        grant: String,
        /// What to write.
        why: String,
    },
}
