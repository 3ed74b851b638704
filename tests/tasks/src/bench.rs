//! `cargo measure`: the benchmarks in `runtime/benches/measure`, with the release profile. `rivals` alone is a program.

use crate::guests;
use crate::repository::Repository;
use crate::rivals;
use crate::run_command::{self, Outcome};
use crate::toolchain;

/// The benchmark that builds plugins in other languages.
const LANGUAGES: &str = "languages";

/// The benchmark beside other servers, whose options follow its name.
const RIVALS: &str = "rivals";

pub(crate) fn run(repository: &Repository, names: &[String]) -> Outcome {
    if let Some((name, options)) = names.split_first()
        && name == RIVALS
    {
        return rivals::run(repository, options);
    }
    run_command::step("Building the test guests", "", || guests::run(repository, &[]))?;
    if names.is_empty() || names.iter().any(|name| name == LANGUAGES) {
        toolchain::prepare(repository, true)?;
    }
    let mut cargo = run_command::cargo(repository.root());
    cargo.args(["bench", "--locked", "--package", "plugport", "--bench", "measure", "--"]).args(names);
    let note = "(the release build takes about 15 minutes the first time)";
    run_command::step("Measuring", note, || run_command::run(cargo))
}
