//! The languages of projects, and the folders of their SDKs.

use std::fmt;

pub(crate) use crate::cli::Language;

/// How the names of sources in C++ end.
pub(crate) const CPP_SUFFIXES: [&str; 2] = [".cpp", ".cc"];

impl Language {
    /// All languages, in the order of messages.
    pub(crate) const ALL: [Self; 7] =
        [Self::Rust, Self::TypeScript, Self::JavaScript, Self::Python, Self::Go, Self::C, Self::Cpp];

    /// The name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Go => "go",
            Self::C => "c",
            Self::Cpp => "cpp",
        }
    }

    /// The folder of its SDK; JavaScript uses that of TypeScript, and C++ that of C.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::JavaScript => Self::TypeScript.word(),
            Self::Cpp => Self::C.word(),
            other => other.word(),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
