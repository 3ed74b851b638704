//! `cargo fuzzing`: libFuzzer over the targets of `tests/fuzz`, on the pinned stable toolchain.
//!
//! Coverage comes from a pass of LLVM that every toolchain has. This program enables it by running between cargo and
//! rustc, for the packages of this workspace alone: `RUSTFLAGS` would make cargo compile Wasmtime again, and the
//! targets test only this workspace. Besides cargo, only a C++ compiler is needed, for libFuzzer itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

/// The default time of each target.
const SECONDS: u64 = 60;

/// The options for an instrumented crate: counters for every edge, and the operands of comparisons. Optimised, with
/// checked arithmetic.
const INSTRUMENTED: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Copt-level=2",
    "-Ccodegen-units=4",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];

const USAGE: &str = "cargo fuzzing [TARGET] [SECONDS], or cargo fuzzing keep TARGET";

/// The command.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    /// Look for findings in one target, or in each, for so many seconds.
    Look { target: Option<String>, seconds: u64 },
    /// Save the smallest set of inputs that reaches all edges.
    Keep { target: String },
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Outcome {
    let plan = plan(arguments)?;
    let targets = repository.fuzz_targets()?;
    let chosen: Vec<&String> = match &plan {
        Plan::Look { target: None, .. } => targets.iter().collect(),
        Plan::Look { target: Some(name), .. } | Plan::Keep { target: name } => {
            let known = targets.get(name).ok_or_else(|| unknown(name, targets.iter()))?;
            vec![known]
        }
    };
    let engine = build(repository)?;
    for target in chosen {
        let at_work = FuzzRun { engine: &engine, folder: repository.target("fuzz").join(target), target };
        match plan {
            Plan::Look { seconds, .. } => at_work.look(seconds)?,
            Plan::Keep { .. } => at_work.keep()?,
        }
    }
    Ok(())
}

fn plan(arguments: &[String]) -> Outcome<Plan> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let seconds = |text: &str| text.parse().map_err(|_| Failure::usage(USAGE));
    Ok(match words[..] {
        [] => Plan::Look { target: None, seconds: SECONDS },
        ["keep", target] => Plan::Keep { target: target.to_owned() },
        [time] if time.bytes().all(|byte| byte.is_ascii_digit()) => {
            Plan::Look { target: None, seconds: seconds(time)? }
        }
        [target] if !target.starts_with('-') => {
            Plan::Look { target: Some(target.to_owned()), seconds: SECONDS }
        }
        [target, time] => Plan::Look { target: Some(target.to_owned()), seconds: seconds(time)? },
        _ => return Err(Failure::usage(USAGE)),
    })
}

fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n String>) -> Failure {
    let known: Vec<&str> = known.map(String::as_str).collect();
    Failure::usage(format!("no target is called `{name}`; there are {}", known.join(", ")))
}

/// Compiles the engine with this program between cargo and rustc.
fn build(repository: &Repository) -> Outcome<PathBuf> {
    let own =
        std::env::current_exe().map_err(|error| Failure::new(format!("cannot find itself: {error}")))?;
    let mut cargo = run_command::cargo(repository.root());
    let target_dir = repository.target("");
    cargo.args(["build", "--quiet", "--locked", "--package", "plugport-fuzz", "--features", "engine"]);
    cargo.args(["--bin", "fuzz-engine", "--target-dir"]).arg(&target_dir);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", own);
    let note = "(libFuzzer needs a C++ compiler)";
    run_command::step("Building the fuzz engine", note, || run_command::run(cargo))?;
    Ok(target_dir.join("debug/fuzz-engine"))
}

/// One target and its folder.
struct FuzzRun<'a> {
    engine: &'a Path,
    folder: PathBuf,
    target: &'a str,
}

impl FuzzRun<'_> {
    fn look(&self, seconds: u64) -> Outcome {
        let corpus = self.folder.join("corpus");
        let mut engine = self.engine();
        engine.arg(format!("--unpack={}", corpus.display())).arg(&corpus);
        engine.arg(format!("-dict={}", corpus.with_extension("words").display()));
        engine.arg(format!("-artifact_prefix={}/", self.folder.display()));
        engine.arg(format!("-max_total_time={seconds}"));
        // An input that takes longer than the timeout is a finding too.
        engine.args(["-timeout=10", "-print_final_stats=1", "-max_len=4096"]);
        let title = format!("Fuzzing {} for {seconds} s", self.target);
        run_command::step(&title, "", || run_command::run(engine))
    }

    /// Inputs by people come first; other inputs are saved only if they reach a new edge.
    fn keep(&self) -> Outcome {
        let merged = self.folder.join("kept");
        if merged.is_dir() {
            let removed = std::fs::remove_dir_all(&merged);
            removed.map_err(|error| Failure::new(format!("cannot remove {}: {error}", merged.display())))?;
        }
        let mut engine = self.engine();
        engine.arg(format!("--seed={}", merged.display())).args([
            "-merge=1",
            "-use_counters=0",
            "-max_len=512",
        ]);
        engine.arg(&merged).arg(self.folder.join("corpus"));
        run_command::run(engine)?;
        let mut engine = self.engine();
        engine.arg(format!("--keep={}", merged.display()));
        run_command::run(engine)
    }

    fn engine(&self) -> Command {
        let mut engine = Command::new(self.engine);
        engine.arg(format!("--target={}", self.target));
        engine
    }
}

/// Whether this program was started by cargo in rustc's place: `plugport-xtask /path/to/rustc ARGUMENTS...`.
pub(crate) fn is_compiler(command: &str) -> bool {
    Path::new(command).file_stem().is_some_and(|stem| stem == "rustc")
}

/// Becomes rustc, with coverage for crates and without it for cargo's queries.
pub(crate) fn compile(rustc: &str, arguments: Vec<OsString>) -> Outcome {
    let names =
        |window: &[OsString]| matches!(window, [flag, name] if flag == "--crate-name" && name != "___");
    let is_crate = arguments.windows(2).any(names);
    let mut command = Command::new(rustc);
    command.args(arguments);
    if is_crate {
        command.args(INSTRUMENTED);
    }
    run_command::become_command(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(words: &str) -> Result<Plan, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        plan(&words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_target_and_a_time_may_be_left_out() {
        let look =
            |target: Option<&str>, seconds| Ok(Plan::Look { target: target.map(str::to_owned), seconds });
        assert_eq!(planned(""), look(None, 60));
        assert_eq!(planned("5"), look(None, 5));
        assert_eq!(planned("framing"), look(Some("framing"), 60));
        assert_eq!(planned("framing 600"), look(Some("framing"), 600));
        assert_eq!(planned("keep framing"), Ok(Plan::Keep { target: "framing".to_owned() }));
        for wrong in ["framing x", "-h", "a b c"] {
            assert_eq!(planned(wrong), Err(USAGE.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn cargo_is_distinguished_from_a_person() {
        assert!(is_compiler("/toolchain/bin/rustc") && is_compiler("rustc"));
        assert!(!is_compiler("fuzzing") && !is_compiler(""));
    }
}
