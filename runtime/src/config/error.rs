//! What can be wrong with a configuration: said all at once, with file, line and key, because an operator who mends
//! one mistake only to meet the next one stops trusting the messages.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Why a configuration was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration {}; {}", file.display(), advice(source))]
    Unreadable {
        /// The file as it was given.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read and has mistakes.
    #[error("{}", DiagnosticList { file, diagnostics })]
    Invalid {
        /// The file as it was given.
        file: PathBuf,
        /// At least one, by line.
        diagnostics: Vec<Diagnostic>,
    },
    /// A value given on the command line is wrong.
    #[error("{0}")]
    Argument(String),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::IsADirectory => "it is a folder: name the file, such as plugport.toml in it",
        ErrorKind::InvalidData => "it is no text in UTF-8, as TOML is: check the path",
        ErrorKind::NotFound => "check the path",
        _ => "check the path and its permissions",
    }
}

/// One mistake in a configuration file.
#[derive(Debug)]
pub struct Diagnostic {
    /// Counted from 1.
    pub line: usize,
    /// Dotted path of the key; empty when the text is not TOML.
    pub key: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

struct DiagnosticList<'a> {
    file: &'a std::path::Path,
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
