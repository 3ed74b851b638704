//! `plugport compile`: the hidden end of a pipe, at whose other end a server waits for compiled code.

use std::process::ExitCode;

use super::console;
use crate::cli;
use crate::sandbox::{Job, compile_for_server};

pub(super) fn run(args: &cli::Compile) -> ExitCode {
    let job = Job { bytes: args.bytes, memory_mib: args.memory_mib, cpu_s: args.cpu_s };
    match compile_for_server(job) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::report(&error.into());
            ExitCode::FAILURE
        }
    }
}
