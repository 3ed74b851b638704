//! How a subcommand fails, which decides the exit code of the program.

use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum CommandError {
    /// The arguments or the configuration are wrong: exit 2.
    Usage(anyhow::Error),
    /// The command failed: exit 1.
    Failed(anyhow::Error),
}

impl CommandError {
    /// The exit code of the program.
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
