//! The languages of projects, and the folders of their SDKs.

use std::fmt;

pub(crate) use crate::cli::Language;

/// How the names of sources in C++ end.
pub(crate) const CPP_SUFFIXES: [&str; 2] = [".cpp", ".cc"];

/// Where the plugin of a project in Zig is: its compiler begins with one file.
pub(crate) const ZIG_ENTRIES: [&str; 2] = ["src/plugin.zig", "plugin.zig"];

impl Language {
    /// All languages, in the order of messages.
    pub(crate) const ALL: [Self; 8] = [
        Self::Rust,
        Self::TypeScript,
        Self::JavaScript,
        Self::Python,
        Self::Go,
        Self::C,
        Self::Cpp,
        Self::Zig,
    ];

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
            Self::Zig => "zig",
        }
    }

    /// The folder of its SDK; JavaScript uses that of TypeScript, and C++ and Zig that of C.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::JavaScript => Self::TypeScript.word(),
            Self::Cpp | Self::Zig => Self::C.word(),
            other => other.word(),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
