//! The benchmarks, as one program, because each of them links the whole server. `cargo measure NAME...` builds what
//! they need and runs this.
//!
//! Each benchmark has a module with its name and runs in a process of its own, so that none finds memory or threads of
//! another. With more than one name, or none, this program starts itself once for each.

#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

mod access;
mod call;
mod fairness;
mod languages;
mod lists;
mod load;
mod quotas;
mod reload;
mod scale;
mod support;
mod suspended_calls;
mod tasks;
mod telemetry;
mod views;

use std::process::{Command, ExitCode};

use Benchmark::{Checks, Prints};
use support::http::run_load_if_child;

#[derive(Clone, Copy)]
enum Benchmark {
    /// Prints figures.
    Prints(fn()),
    /// Fails when an aim is missed.
    Checks(fn() -> ExitCode),
}

const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("access", Prints(access::run)),
    ("call", Prints(call::run)),
    ("fairness", Checks(fairness::run)),
    ("languages", Prints(languages::run)),
    ("lists", Prints(lists::run)),
    ("load", Prints(load::run)),
    ("quotas", Prints(quotas::run)),
    ("reload", Checks(reload::run)),
    ("scale", Checks(scale::run)),
    ("suspended_calls", Prints(suspended_calls::run)),
    ("tasks", Prints(tasks::run)),
    ("telemetry", Prints(telemetry::run)),
    ("views", Prints(views::run)),
];

fn main() -> ExitCode {
    if run_load_if_child() {
        return ExitCode::SUCCESS;
    }
    // Cargo adds `--bench`.
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match names.as_slice() {
        [name] => match BENCHMARKS.iter().find(|(known, _)| known == name) {
            Some((_, Prints(run))) => {
                run();
                ExitCode::SUCCESS
            }
            Some((_, Checks(run))) => run(),
            None => unknown(name),
        },
        [] => run_each(BENCHMARKS.iter().map(|(name, _)| *name)),
        names => run_each(names.iter().map(String::as_str)),
    }
}

fn unknown(name: &str) -> ExitCode {
    let known: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
    eprintln!("no benchmark is called `{name}`; there are {}", known.join(", "));
    ExitCode::FAILURE
}

/// Runs each benchmark in a process of its own, and fails at the end if one has failed.
fn run_each<'n>(names: impl Iterator<Item = &'n str>) -> ExitCode {
    let program = std::env::current_exe().unwrap();
    let mut failed = Vec::new();
    for name in names {
        println!("\n{name}\n");
        if !Command::new(&program).arg(name).status().unwrap().success() {
            eprintln!("the benchmark `{name}` failed");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("these benchmarks failed: {}", failed.join(", "));
    ExitCode::FAILURE
}
