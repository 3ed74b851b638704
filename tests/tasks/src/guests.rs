//! `cargo guests`: the guests that the tests run, from `tests/guests/examples/NAME.rs` to `target/guests/NAME.wasm`, and those
//! that know nothing of MCP, from `tests/guests/plain/NAME` to `target/guests/plain-NAME.wasm`.
//!
//! The tests call this too, so a guest is never older than its source, and there is one way to build it.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::wasm;

const BUILD: &str = "guests-build";
const PLAIN_BUILD: &str = "plain-guests-build";

pub(crate) fn run(repository: &Repository, wanted: &[String]) -> Outcome {
    let (usual, plain) = (repository.guest_names()?, repository.plain_guest_names()?);
    let names = choose(wanted, &usual.union(&plain).cloned().collect())?;
    wasm::require_target(repository)?;
    let (plain, usual): (BTreeSet<_>, _) = names.into_iter().partition(|name| plain.contains(name));
    let to = repository.target("guests");
    if !usual.is_empty() {
        let build = wasm::build(repository, &repository.guests(), BUILD);
        run_command::run(choosing(build, "--example", &usual))?;
        wasm::publish(&usual, &wasm::built(repository, BUILD).join("examples"), &to)?;
    }
    if !plain.is_empty() {
        let build = wasm::build(repository, &repository.plain_guests(), PLAIN_BUILD);
        run_command::run(choosing(build, "--package", &plain))?;
        wasm::publish(&plain, &wasm::built(repository, PLAIN_BUILD), &to)?;
    }
    Ok(())
}

/// A build of these and no others.
fn choosing(mut command: Command, option: &str, names: &BTreeSet<String>) -> Command {
    for name in names {
        command.args([option, name]);
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
