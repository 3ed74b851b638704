//! `plugport approve`.

use std::process::ExitCode;

use super::Failure;
use crate::cli;

pub(super) async fn run(_args: cli::Approve) -> Result<ExitCode, Failure> {
    Ok(ExitCode::FAILURE)
}
