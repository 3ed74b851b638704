//! What can be wrong with a configuration. All mistakes are reported at once, with file, line and key: an operator who
//! mends one mistake only to meet the next one stops trusting the messages.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::toml_reader::Diagnostic;

/// Why a configuration was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration {}; {}", file.display(), hint(source))]
    Unreadable {
        /// The file as the operator named it.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read and has mistakes.
    #[error("{}", DiagnosticList { file, diagnostics })]
    Invalid {
        /// The file as the operator named it.
        file: PathBuf,
        /// At least one, by line.
        diagnostics: Vec<Diagnostic>,
    },
    /// A value given on the command line is wrong.
    #[error("{0}")]
    Argument(String),
}

impl ConfigError {
    /// The file was read and has these mistakes.
    pub(super) fn invalid(file: &Path, diagnostics: Vec<Diagnostic>) -> Self {
        Self::Invalid { file: file.to_owned(), diagnostics }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::IsADirectory => "it is a folder: name the file, such as plugport.toml in it",
        ErrorKind::InvalidData => "it is no text in UTF-8, as TOML is: check the path",
        ErrorKind::NotFound => "check the path",
        _ => "check the path and its permissions",
    }
}

struct DiagnosticList<'a> {
    file: &'a Path,
    diagnostics: &'a [Diagnostic],
}

impl fmt::Display for DiagnosticList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        let count = self.diagnostics.len();
        let noun = if count == 1 { "mistake" } else { "mistakes" };
        let them = if count == 1 { "it" } else { "them" };
        write!(f, "{count} {noun} in {file}; mend {them}")?;
        for Diagnostic { line, key, message } in self.diagnostics {
            let colon = if key.is_empty() { "" } else { ": " };
            write!(f, "\n  {file}:{line}: {key}{colon}{}", message.trim_end())?;
        }
        Ok(())
    }
}
