//! `plugport compile-worker`, hidden: compiles one component for a server and writes the code to its stdout.

use std::process::ExitCode;

use super::console;
use crate::cli;
use crate::sandbox::{CompileEffort, CompileRequest, compile_for_server};

pub(super) fn run(args: &cli::Compile) -> ExitCode {
    let effort = if args.quick { CompileEffort::Quick } else { CompileEffort::Full };
    let request =
        CompileRequest { bytes: args.bytes, memory_mib: args.memory_mib, cpu_s: args.cpu_s, effort };
    match compile_for_server(request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::report(&error.into());
            ExitCode::FAILURE
        }
    }
}
