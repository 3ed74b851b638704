//! How a subcommand fails, which decides the exit code of the program.

use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum CommandError {
    /// What was asked for cannot be: exit 2.
    Usage(anyhow::Error),
    /// It was tried and failed: exit 1.
    Failed(anyhow::Error),
}

impl CommandError {
    /// What the program ends with.
    #[must_use]
    pub fn code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }

    /// The error, whichever kind it is.
    #[must_use]
    pub fn into_error(self) -> anyhow::Error {
        let (Self::Usage(error) | Self::Failed(error)) = self;
        error
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
