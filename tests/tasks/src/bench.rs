//! `cargo measure`: the benchmarks in `runtime/benches`, with the release profile. `cargo measure instructions` counts
//! and does not measure, so it is no benchmark and runs alone.

use crate::guests;
use crate::instruction_counts;
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::toolchain;

/// The name that stands for counting.
const INSTRUCTIONS: &str = "instructions";

/// The benchmark that builds plugins in other languages.
const LANGUAGES: &str = "languages";

/// What is said before a build with the release profile.
const RELEASE: &str = "(the release build takes about 15 minutes the first time)";

pub(crate) fn run(repository: &Repository, names: &[String]) -> Outcome {
    if names.iter().any(|name| name == INSTRUCTIONS) {
        return match names {
            [_] => instruction_counts::measure(repository, RELEASE),
            _ => Err(Failure::usage(format!("`{INSTRUCTIONS}` is run alone"))),
        };
    }
    if !repository.root().join("runtime/benches").is_dir() {
        return Err(Failure::new("there are no benchmarks yet; they belong in runtime/benches"));
    }
    run_command::step("Building the test guests", "", || guests::run(repository, &[]))?;
    if names.is_empty() || names.iter().any(|name| name == LANGUAGES) {
        toolchain::prepare(repository, true)?;
    }
    let mut cargo = run_command::cargo(repository.root());
    cargo.args(["bench", "--locked", "--package", "plugport"]);
    let all = ["*".to_owned()];
    for name in if names.is_empty() { &all } else { names } {
        cargo.args(["--bench", name]);
    }
    run_command::step("Measuring", RELEASE, || run_command::run(cargo))
}
