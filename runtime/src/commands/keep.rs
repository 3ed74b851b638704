//! `plugport keep`: what waits for a compiler whose server has ended, and keeps what it answers.

use std::process::ExitCode;

use crate::cli;
use crate::sandbox::Keep;

pub(super) fn run(args: &cli::Keep) -> ExitCode {
    let cli::Keep { folder, mib, digest, code_mib, within_ms } = args.clone();
    match (Keep { folder, mib, digest, code_mib, within_ms }).wait() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
