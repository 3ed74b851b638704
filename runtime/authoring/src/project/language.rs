//! The languages of projects, and the folders of their SDKs.

use std::fmt;

pub(crate) use crate::cli::Language;

impl Language {
    /// All languages, in the order of messages.
    pub(crate) const ALL: [Self; 6] =
        [Self::Rust, Self::TypeScript, Self::JavaScript, Self::Python, Self::Go, Self::C];

    /// The name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Go => "go",
            Self::C => "c",
        }
    }

    /// The folder of its SDK; JavaScript uses that of TypeScript.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::JavaScript => Self::TypeScript.word(),
            other => other.word(),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
