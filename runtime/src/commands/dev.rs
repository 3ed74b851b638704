//! `plugport dev`.

use std::process::ExitCode;

use super::Failure;
use crate::cli;

pub(super) async fn run(_args: cli::Dev) -> Result<ExitCode, Failure> {
    Ok(ExitCode::FAILURE)
}
