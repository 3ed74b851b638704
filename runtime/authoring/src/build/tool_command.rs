//! Runs one tool of a build. Its output goes to stderr as it comes, since stdout is for the result of this program.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::error::BuildError;
use crate::child_output::read_lines;

/// A program to run in the project.
pub(super) struct ToolCommand {
    name: String,
    command: Command,
}

impl ToolCommand {
    pub(super) fn new(program: &Path, root: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(root).stdin(Stdio::null()).kill_on_drop(true);
        Self { name: program.file_name().unwrap_or_default().to_string_lossy().into_owned(), command }
    }

    pub(super) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn envs(mut self, variables: impl IntoIterator<Item = (&'static str, OsString)>) -> Self {
        self.command.envs(variables);
        self
    }

    /// Runs the tool to its end; an exit code other than 0 is an error.
    pub(super) async fn run(mut self) -> Result<(), BuildError> {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        self.command.stdout(stderr.map_or_else(|_| Stdio::null(), Stdio::from));
        let status = self.command.status().await;
        let status = status.map_err(|error| BuildError::NotStarted(self.name.clone(), error))?;
        if status.success() { Ok(()) } else { Err(BuildError::Failed(self.name, status)) }
    }

    /// Runs the tool to its end, and passes every line of its stdout to `each`.
    pub(super) async fn read(mut self, each: impl FnMut(&str)) -> Result<(), BuildError> {
        self.command.stdout(Stdio::piped());
        let not_started = |error| BuildError::NotStarted(self.name.clone(), error);
        let mut child = self.command.spawn().map_err(not_started)?;
        if let Some(stdout) = child.stdout.take() {
            read_lines(stdout, each).await;
        }
        let status = child.wait().await.map_err(not_started)?;
        if status.success() { Ok(()) } else { Err(BuildError::Failed(self.name, status)) }
    }

    /// Runs the tool to its end, and returns its stdout.
    pub(super) async fn output(mut self) -> Result<Vec<u8>, BuildError> {
        self.command.stderr(Stdio::inherit());
        let output = self.command.output().await;
        let output = output.map_err(|error| BuildError::NotStarted(self.name.clone(), error))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(BuildError::Failed(self.name, output.status))
        }
    }
}
