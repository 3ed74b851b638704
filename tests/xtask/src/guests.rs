//! `cargo guests`: the guests that the tests run, from `tests/guests/examples/NAME.rs` to `target/guests/NAME.wasm`,
//! and those that know nothing of MCP, from `tests/guests/functions/NAME` to `target/guests/functions-NAME.wasm`.
//!
//! The tests call this too, so a guest is never older than its source.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::wasm::{self, RUST_BUILD};

pub(crate) fn run(repository: &Repository, requested: &[String]) -> Outcome {
    let (examples, functions) = (repository.guest_names()?, repository.function_guest_names()?);
    let names = choose(requested, &examples.union(&functions).cloned().collect())?;
    wasm::require_target(repository)?;
    let (functions, examples): (BTreeSet<_>, _) =
        names.into_iter().partition(|name| functions.contains(name));
    let to = repository.target("guests");
    if !examples.is_empty() {
        let build = wasm::build(repository, &repository.guests(), RUST_BUILD);
        run_command::run(choosing(build, "--example", &examples))?;
        wasm::publish(&examples, &wasm::built(repository, RUST_BUILD).join("examples"), &to)?;
    }
    if !functions.is_empty() {
        let build = wasm::build(repository, &repository.function_guests(), RUST_BUILD);
        run_command::run(choosing(build, "--package", &functions))?;
        wasm::publish(&functions, &wasm::built(repository, RUST_BUILD), &to)?;
    }
    Ok(())
}

/// Builds exactly these guests.
fn choosing(mut command: Command, option: &str, names: &BTreeSet<String>) -> Command {
    for name in names {
        command.args([option, name]);
    }
    command
}

fn choose(requested: &[String], known: &BTreeSet<String>) -> Outcome<BTreeSet<String>> {
    if let Some(name) = requested.iter().find(|name| !known.contains(*name)) {
        let known = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("there is no test guest `{name}`; choose from {known}")));
    }
    Ok(if requested.is_empty() { known.clone() } else { requested.iter().cloned().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_every_guest_and_an_unknown_one_is_rejected() {
        let known = BTreeSet::from(["hostile_loop".to_owned(), "polite".to_owned()]);
        assert_eq!(choose(&[], &known).unwrap(), known);
        assert_eq!(choose(&["polite".to_owned()], &known).unwrap().len(), 1);
        let error = choose(&["impolite".to_owned()], &known).unwrap_err().to_string();
        assert_eq!(error, "there is no test guest `impolite`; choose from hostile_loop, polite");
    }
}
