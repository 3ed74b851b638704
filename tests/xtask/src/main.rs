//! The repository's own commands, behind the aliases in `.cargo/config.toml`.
//!
//! They are a program and not scripts, so that a fresh machine needs cargo and nothing else, and the program depends on
//! the standard library alone, so that it compiles in a second or two. Each command is a module; they share how a
//! step is run and reported ([`run_command`]), how a component is built ([`wasm`]), how a package of Debian is
//! installed ([`debian`]) and the paths ([`repository`]).
//!
//! Everything is reported on stderr. stdout belongs to the started program: `cargo demo --stdio` speaks MCP there.
#![expect(clippy::print_stderr, reason = "reporting what is being done is what this program is for")]

mod bench;
mod browser;
mod debian;
mod demo;
mod docs;
mod fuzzing;
mod guests;
mod instruction_counts;
mod languages;
mod newer_libc;
mod other_languages;
mod prometheus;
mod repository;
mod rivals;
mod run_command;
mod sdk_unit_tests;
mod toolchain;
mod verify;
mod wasm;

use std::ffi::OsString;
use std::process::ExitCode;

use repository::Repository;
use run_command::{Failure, Outcome};

const USAGE: &str = "\
The repository's own commands:

  cargo demo [--build-only] [SERVE ARGS...]   build the example plugins and serve them
  cargo verify [FILTER] [--all-languages]     all that CI runs, or the steps or tests named by FILTER
  cargo guests [NAME...]                      build the test guests to target/guests/NAME.wasm
  cargo plugins SERVER                        build the example plugins with this plugport
  cargo bindings                              write what the SDKs for C, Go and Rust have of wit/plugin.wit
  cargo toolchain [--all-languages]           install what builds plugins in other languages to target/toolchain
  cargo measure [NAME...]                     run the benchmarks
  cargo measure rivals [quick] [OPTION...]    measure plugport beside other MCP servers
  cargo measure instructions                  count what requests cost
  cargo fuzzing [TARGET] [SECONDS]            look for inputs that break a promise of tests/fuzz
";

fn main() -> ExitCode {
    let Err(failure) = dispatch(std::env::args_os().skip(1)) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("{failure}");
    failure.exit_code()
}

/// Runs a command, or becomes the compiler in whose place cargo has started this program.
fn dispatch(mut arguments: impl Iterator<Item = OsString>) -> Outcome {
    if docs::is_rustdoc() {
        return docs::document(arguments);
    }
    let command = arguments.next().unwrap_or_default().to_string_lossy().into_owned();
    if fuzzing::is_compiler(&command) {
        return fuzzing::compile(&command, arguments.collect());
    }
    run(&command, arguments.map(|argument| argument.to_string_lossy().into_owned()).collect())
}

fn run(command: &str, arguments: Vec<String>) -> Outcome {
    let repository = Repository::here();
    match command {
        "demo" => demo::run(&repository, arguments),
        "verify" => verify::run(&repository, &arguments),
        "guests" => guests::run(&repository, &arguments),
        "plugins" => demo::plugins(&repository, &arguments),
        "fuzzing" => fuzzing::run(&repository, &arguments),
        "measure" => bench::run(&repository, &arguments),
        "toolchain" => toolchain::run(&repository, &arguments),
        _ => Err(Failure::usage(USAGE)),
    }
}
