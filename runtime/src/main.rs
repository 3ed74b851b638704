//! The `plugport` program: parse, run, say what went wrong, and the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use plugport::cli::Cli;
use plugport::commands;

fn main() -> ExitCode {
    commands::run(Cli::parse())
}
