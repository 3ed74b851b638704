//! The step `docs`: makes the documentation with warnings as errors.
//!
//! `cargo doc` would check every dependency once more, the engine too, which takes minutes. `cargo test --doc` needs
//! only what the tests have compiled already. It starts rustdoc with everything that the documentation needs too, so
//! this program takes rustdoc's place there and starts rustdoc without its arguments for tests.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::repository::Repository;
use crate::run_command::{self, Outcome};

/// Set when cargo starts this program as rustdoc; the folder for the documentation.
const FOLDER: &str = "PLUGPORT_DOC_FOLDER";

/// The commands of this step: the libraries with doc tests, then this program, which has no dependencies. The crates of
/// tests have no doc tests, so their documentation is not made. `cargo` makes a command of its words.
pub(crate) fn run(repository: &Repository, cargo: impl Fn(&str) -> Command) -> Outcome {
    let mut libraries = cargo("test --locked --workspace --doc --no-fail-fast");
    let this = std::env::current_exe()
        .map_err(|error| run_command::Failure::new(format!("cannot find this program: {error}")))?;
    // Cargo has replaced this program if it was compiled again meanwhile; Linux then adds a word to the path.
    let this = this.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
    libraries.env("RUSTDOC", this).env(FOLDER, repository.target("doc"));
    run_command::run(libraries)?;
    let mut xtask = cargo("doc --locked --no-deps --package plugport-xtask");
    xtask.env("RUSTDOCFLAGS", "-D warnings");
    run_command::run(xtask)
}

/// Whether cargo has started this program as rustdoc.
pub(crate) fn is_rustdoc() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// Becomes rustdoc.
pub(crate) fn document(arguments: impl Iterator<Item = OsString>) -> Outcome {
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(without_tests(arguments)).args(["-D", "warnings"]);
    if let Some(folder) = std::env::var_os(FOLDER) {
        rustdoc.arg("-o").arg(folder);
    }
    run_command::become_command(rustdoc)
}

/// The arguments without `--test` and without options for tests, each of which has a value.
fn without_tests(mut arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--test" {
            continue;
        }
        if is_test_option(&argument) {
            arguments.next();
            continue;
        }
        kept.push(argument);
    }
    kept
}

fn is_test_option(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|argument| argument.starts_with("--test-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustdoc_gets_everything_but_what_is_for_tests() {
        let arguments =
            "--crate-name a --test a/src/lib.rs --test-run-directory a --extern b=b.rlib --test-args x";
        let left = without_tests(arguments.split(' ').map(OsString::from));
        assert_eq!(left, ["--crate-name", "a", "a/src/lib.rs", "--extern", "b=b.rlib"]);
    }
}
