//! `cargo guests`: the guests that the tests run, from `tests/guests/examples/NAME.rs` to `target/guests/NAME.wasm`.
//!
//! The tests call this too, so a guest is never older than its source, and there is one way to build it.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::Repository;
use crate::steps::{self, Failure, Outcome};
use crate::wasm;

const BUILD: &str = "guests-build";

pub(crate) fn run(repository: &Repository, wanted: &[String]) -> Outcome {
    let known = repository.guest_names()?;
    let names = choose(wanted, &known)?;
    wasm::require_target(repository)?;
    steps::run(command(repository, wanted))?;
    wasm::publish(&names, &wasm::built(repository, BUILD).join("examples"), &repository.target("guests"))
}

/// The build of the guests that were asked for, of all when none was.
fn command(repository: &Repository, wanted: &[String]) -> Command {
    let mut command = wasm::build(repository, &repository.guests(), BUILD);
    if wanted.is_empty() {
        command.arg("--examples");
    }
    for name in wanted {
        command.args(["--example", name]);
    }
    command
}

fn choose(wanted: &[String], known: &BTreeSet<String>) -> Outcome<BTreeSet<String>> {
    if let Some(name) = wanted.iter().find(|name| !known.contains(*name)) {
        let known = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("there is no test guest `{name}`; choose from {known}")));
    }
    Ok(if wanted.is_empty() { known.clone() } else { wanted.iter().cloned().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_every_guest_and_an_unknown_one_is_refused() {
        let known = BTreeSet::from(["hostile_loop".to_owned(), "polite".to_owned()]);
        assert_eq!(choose(&[], &known).unwrap(), known);
        assert_eq!(choose(&["polite".to_owned()], &known).unwrap().len(), 1);
        let refusal = choose(&["impolite".to_owned()], &known).unwrap_err().to_string();
        assert_eq!(refusal, "there is no test guest `impolite`; choose from hostile_loop, polite");
    }
}
