//! `plugport status`.

use std::process::ExitCode;

use super::Failure;
use crate::cli;

pub(super) async fn run(_args: cli::Status) -> Result<ExitCode, Failure> {
    Ok(ExitCode::FAILURE)
}
