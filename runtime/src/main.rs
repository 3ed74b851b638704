//! The `plugport` program: parses the command line, runs the command and exits with its exit code.

use std::process::ExitCode;

use clap::Parser as _;
use plugport::cli::Cli;
use plugport::commands;

fn main() -> ExitCode {
    commands::run(Cli::parse())
}
