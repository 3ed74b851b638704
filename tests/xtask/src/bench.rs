//! `cargo measure`: the benchmarks in `runtime/benches/measure`, with the release profile. `rivals` and `instructions`
//! are programs of their own, so each of them runs alone.

use crate::guests;
use crate::instruction_counts;
use crate::repository::Repository;
use crate::rivals;
use crate::run_command::{self, Failure, Outcome};
use crate::toolchain;

/// The name that stands for counting.
const INSTRUCTIONS: &str = "instructions";

/// The benchmark that builds plugins in other languages.
const LANGUAGES: &str = "languages";

/// The benchmark beside other servers, whose options follow its name.
const RIVALS: &str = "rivals";

/// What is said before a build with the release profile.
const RELEASE: &str = "(the release build takes about 15 minutes the first time)";

pub(crate) fn run(repository: &Repository, names: &[String]) -> Outcome {
    match names.split_first() {
        Some((name, options)) if name == RIVALS => return rivals::run(repository, options),
        Some((name, [])) if name == INSTRUCTIONS => return instruction_counts::measure(repository, RELEASE),
        _ => {}
    }
    if let Some(name) = names.iter().find(|name| [RIVALS, INSTRUCTIONS].contains(&name.as_str())) {
        return Err(Failure::usage(format!("`cargo measure {name}` runs alone")));
    }
    run_command::step("Building the test guests", "", || guests::run(repository, &[]))?;
    if names.is_empty() || names.iter().any(|name| name == LANGUAGES) {
        toolchain::prepare(repository, true)?;
    }
    let mut cargo = run_command::cargo(repository.root());
    cargo.args(["bench", "--locked", "--package", "plugport", "--bench", "measure", "--"]).args(names);
    run_command::step("Measuring", RELEASE, || run_command::run(cargo))
}
