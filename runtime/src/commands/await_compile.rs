//! `plugport await-compile`, hidden: waits for a compiler process whose server has ended, and stores its code in the
//! cache.

use std::process::ExitCode;

use crate::cli;
use crate::sandbox::DetachedCompile;

pub(super) fn run(args: &cli::AwaitCompile) -> ExitCode {
    let cli::AwaitCompile { folder, mib, digest, code_mib, within_ms } = args.clone();
    match (DetachedCompile { folder, mib, digest, code_mib, within_ms }).wait() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
