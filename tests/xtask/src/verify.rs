//! `cargo verify`: all that `.ci/run` runs, in one order, here as there.
//!
//! Cheap steps come first, so that a forgotten `cargo fmt` fails in seconds. The first failure ends the run, since
//! later steps would mostly repeat it. What a later step needs is installed and built beside earlier steps, which do
//! not always occupy every processor.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::browser;
use crate::demo;
use crate::docs;
use crate::guests;
use crate::instruction_counts;
use crate::prometheus;
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::sdk_unit_tests;
use crate::toolchain::{self, ALL};
use crate::wasm;

/// The step for which languages other than Rust have to be installed.
const LANGUAGES: &str = "languages";

/// The step for which a browser and Prometheus have to be installed; the next one needs valgrind.
const TESTS: &str = "tests";

const FORMAT: &str = "format";
const LINT: &str = "lint";

/// Work for the steps `guests` and `tests` that begins when an earlier step has succeeded, beside those that follow.
/// Its errors are dropped: the step that needs it does it again, which takes no time if it is done, and reports them.
struct BackgroundWork {
    after: &'static str,
    work: fn(&Run<'_>) -> Outcome,
}

const BACKGROUND: &[BackgroundWork] = &[
    BackgroundWork { after: FORMAT, work: |run| build_rust_components(run.repository) },
    BackgroundWork { after: LINT, work: |_| install_clients() },
    BackgroundWork { after: LINT, work: |run| build_components_with(run) },
];

/// One thing that CI checks.
struct Step {
    name: &'static str,
    check: fn(&Run<'_>) -> Outcome,
}

/// The scope of a run.
struct Run<'r> {
    repository: &'r Repository,
    /// With the languages that are too large to be fetched for every submission.
    all_languages: bool,
}

const STEPS: &[Step] = &[
    Step { name: FORMAT, check: |run| format(run.repository) },
    Step { name: LINT, check: |run| lint(run.repository) },
    Step { name: "plugins", check: |run| plugins(run.repository) },
    Step { name: "guests", check: |run| guests(run.repository) },
    Step { name: LANGUAGES, check: |run| sdk_unit_tests::verify(run.repository, run.all_languages) },
    Step { name: TESTS, check: |run| tests(run, None) },
    Step { name: "counts", check: |run| counts(run.repository) },
    Step { name: "docs", check: |run| docs(run.repository) },
    Step { name: "dependencies", check: |run| dependencies(run.repository, false) },
];

/// Steps that run only when the filter is exactly their name.
const GATES: &[Step] = &[
    // This compiles most of the engine again, which is too long for every submission.
    Step { name: "server", check: |run| server(run.repository) },
    // A step that cannot run has failed.
    Step { name: "dependencies", check: |run| dependencies(run.repository, true) },
];

/// Tests that run at the same time: more than a small machine has cores, since most of them wait for the server. Those
/// that measure speed have the machine to themselves.
const TEST_THREADS: &str = "6";

/// The workspaces.
const MANIFESTS: [&str; 5] = [
    "Cargo.toml",
    "plugins/Cargo.toml",
    "tests/guests/Cargo.toml",
    "tests/guests/functions/Cargo.toml",
    "tests/rivals/guests/Cargo.toml",
];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Outcome {
    // Cargo passes the `--` of `cargo verify -- --all-languages` on.
    let (options, words): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| *argument != "--")
        .partition(|argument| argument.starts_with('-'));
    let filter = match words[..] {
        [] => "",
        [filter] => filter,
        _ => return Err(Failure::usage(usage())),
    };
    if options.iter().any(|option| *option != ALL) {
        return Err(Failure::usage(usage()));
    }
    let run = Run { repository, all_languages: !options.is_empty() };
    let start = Instant::now();
    wasm::require_target(repository)?;
    let chosen = choose(filter);
    let is_chosen = |name| chosen.iter().any(|step| step.name == name);
    let tests_languages = is_chosen(LANGUAGES);
    if run.all_languages && !tests_languages {
        toolchain::prepare(repository, true)?;
    }
    if chosen.is_empty() {
        eprintln!("no step is called `{filter}`; running the tests that are");
        tests(&run, Some(filter))?;
    }
    let mut took = Vec::new();
    std::thread::scope(|scope| {
        if tests_languages {
            // Installing waits for the network while earlier steps compile. The step that needs it reports its errors.
            scope.spawn(|| drop(toolchain::prepare(repository, run.all_languages)));
        }
        if is_chosen(TESTS) {
            // One after the other: all use Debian's packages.
            scope.spawn(|| {
                drop((browser::prepare(), prometheus::prepare(repository), instruction_counts::prepare()));
            });
        }
        for (index, step) in chosen.iter().enumerate() {
            let title = format!("[{}/{}] {}", index + 1, chosen.len(), step.name);
            let begun = Instant::now();
            if let Err(failure) = run_command::step(&title, "", || (step.check)(&run)) {
                if is_chosen(TESTS) || tests_languages {
                    eprintln!("{} failed; waiting for what runs beside it", step.name);
                }
                return Err(stopped(step, &failure));
            }
            took.push(format!("{} {}", step.name, run_command::time(begun.elapsed())));
            for background in BACKGROUND.iter().filter(|work| is_chosen(TESTS) && work.after == step.name) {
                scope.spawn(|| drop((background.work)(&run)));
            }
        }
        Ok(())
    })?;
    eprintln!("verified in {}: {}", run_command::time(start.elapsed()), took.join(", "));
    Ok(())
}

/// The steps whose name begins with `filter`; none if it is a filter of tests.
fn choose(filter: &str) -> Vec<&'static Step> {
    if let Some(gate) = GATES.iter().find(|step| step.name == filter) {
        return vec![gate];
    }
    STEPS.iter().filter(|step| step.name.starts_with(filter)).collect()
}

fn usage() -> String {
    let names = STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    format!("cargo verify [FILTER] [{ALL}], where FILTER is a step ({names}) or part of a test's name")
}

fn stopped(step: &Step, failure: &Failure) -> Failure {
    Failure::new(format!("{name}: {failure}\nwhen it is mended: cargo verify {name}", name = step.name))
}

fn cargo(repository: &Repository, words: &str) -> Command {
    let mut command = run_command::cargo(repository.root());
    command.args(words.split_whitespace());
    command
}

fn format(repository: &Repository) -> Outcome {
    for manifest in MANIFESTS {
        run_command::run(cargo(repository, &format!("fmt --all --check --manifest-path {manifest}")))?;
    }
    Ok(())
}

/// Clippy as the compiler of the workspace's own crates, with warnings as errors. The tests run what it compiles, so
/// all dependencies, the engine too, are compiled once for the lints, the tests and the docs. `cargo clippy` would
/// check them once more, which takes minutes.
fn linting_cargo(repository: &Repository, words: &str) -> Command {
    let mut command = cargo(repository, words);
    command.args(["--config", "build.rustc-workspace-wrapper='clippy-driver'"]);
    // The form in which `cargo clippy` passes on what follows its `--`.
    command.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    command
}

fn lint(repository: &Repository) -> Outcome {
    run_command::run(linting_cargo(repository, "build --locked --workspace --all-targets"))
}

/// The plugins' logic is plain Rust, tested without a sandbox.
fn plugins(repository: &Repository) -> Outcome {
    let options = "--locked --manifest-path plugins/Cargo.toml --target-dir target/plugins-build";
    run_command::run(linting_cargo(repository, &format!("test {options} --workspace --quiet")))
}

/// The server builds without the feature for authors.
fn server(repository: &Repository) -> Outcome {
    run_command::run(cargo(
        repository,
        "clippy --locked --package plugport --no-default-features -- -D warnings",
    ))
}

fn guests(repository: &Repository) -> Outcome {
    guests::run(repository, &[])
}

fn tests(run: &Run<'_>, filter: Option<&str>) -> Outcome {
    let mut command = linting_cargo(run.repository, "test --locked --workspace");
    command.args(filter);
    command.env("RUST_TEST_THREADS", TEST_THREADS);
    std::thread::scope(|scope| {
        // Components are built first. Otherwise the tests would build the server once more, without Clippy, and
        // components while their time is measured.
        if filter.is_some() {
            return build_components(run.repository);
        }
        // Installing waits for the network. The tests that need these clients report errors.
        scope.spawn(|| drop(install_clients()));
        build_components_with(run)
    })?;
    command.env("PLUGPORT_SERVER_IS_BUILT", "1").env("PLUGPORT_COMPONENTS_ARE_BUILT", "1");
    if browser::prepare()? {
        command.env(browser::IS_INSTALLED, "1");
    }
    if prometheus::prepare(run.repository)? {
        command.env(prometheus::IS_INSTALLED, "1");
    }
    if run.all_languages {
        // With this variable a test whose language is missing fails.
        command.env("PLUGPORT_ALL_LANGUAGES", "1");
    }
    run_command::run(command)
}

/// The clients of other projects, with the program that the step `lint` compiles.
fn install_clients() -> Outcome {
    run_command::run(Command::new(demo::beside_this_program("install_clients")?))
}

/// The components that need no server.
fn build_rust_components(repository: &Repository) -> Outcome {
    guests::run(repository, &[])?;
    demo::build_rust_plugins(repository)
}

/// [`build_components`], once the toolchains of other languages are there. Another thread may be installing them.
fn build_components_with(run: &Run<'_>) -> Outcome {
    toolchain::prepare(run.repository, run.all_languages)?;
    build_components(run.repository)
}

/// The test guests, and the example plugins in every language, built with the server that the step `lint` compiles.
fn build_components(repository: &Repository) -> Outcome {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Does nothing after that step.
    lint(repository)?;
    guests::run(repository, &[])?;
    demo::build_plugins(repository, &demo::beside_this_program("plugport")?)
}

/// What requests cost, compared with what is recorded. It is a step of its own, because it needs the machine's timers
/// undisturbed.
fn counts(repository: &Repository) -> Outcome {
    if !instruction_counts::prepare()? {
        return Ok(());
    }
    // Does nothing after the step `lint`. The recorded counts are of what Clippy compiles, which is optimised even less
    // than what the compiler alone does.
    lint(repository)?;
    instruction_counts::check()
}

fn docs(repository: &Repository) -> Outcome {
    docs::run(repository, |words| linting_cargo(repository, words))
}

/// Licences, advisories and sources of all dependencies. Without cargo-deny the step fails if it was named, and is
/// skipped with a message otherwise.
fn dependencies(repository: &Repository, gate: bool) -> Outcome {
    if !run_command::succeeds(cargo(repository, "deny --version")) {
        let missing = "cargo-deny is not installed; `cargo install --locked cargo-deny` adds it";
        if gate {
            return Err(Failure::new(missing));
        }
        eprintln!("skipped: {missing}");
        return Ok(());
    }
    for manifest in MANIFESTS {
        run_command::run(cargo(
            repository,
            &format!("deny --locked --config deny.toml --manifest-path {manifest} check"),
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(filter: &str) -> Vec<&'static str> {
        choose(filter).iter().map(|step| step.name).collect()
    }

    #[test]
    fn a_filter_names_steps_or_is_meant_for_the_tests() {
        assert_eq!(names("").len(), STEPS.len());
        assert_eq!(names("lint"), ["lint"]);
        assert_eq!(names("doc"), ["docs"]);
        assert!(names("a_guest_that_loops").is_empty());
    }

    #[test]
    fn an_option_is_not_a_filter() {
        let error = run(&Repository::here(), &["--help".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("format, lint, plugins"), "{error}");
    }

    #[test]
    fn an_option_that_nobody_knows_is_rejected_and_two_filters_too() {
        for words in [&["--all-languages", "--fast"][..], &["lint", "docs"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let error = run(&Repository::here(), &words).unwrap_err().to_string();
            assert!(error.starts_with("cargo verify [FILTER] [--all-languages]"), "{error}");
        }
    }

    #[test]
    fn the_first_failure_says_what_to_run_again() {
        let step = Step { name: "lint", check: |_| Ok(()) };
        let message = stopped(&step, &Failure::new("failed")).to_string();
        assert_eq!(message, "lint: failed\nwhen it is mended: cargo verify lint");
    }
}
