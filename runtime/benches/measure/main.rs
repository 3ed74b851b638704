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
mod telemetry;
mod views;

use std::process::{Command, ExitCode};

use support::http::run_load_if_child;

type Benchmark = fn() -> ExitCode;

const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("access", || done(access::run())),
    ("call", || done(call::run())),
    ("fairness", fairness::run),
    ("languages", || done(languages::run())),
    ("lists", || done(lists::run())),
    ("load", || done(load::run())),
    ("quotas", || done(quotas::run())),
    ("reload", reload::run),
    ("scale", scale::run),
    ("suspended_calls", || done(suspended_calls::run())),
    ("telemetry", || done(telemetry::run())),
    ("views", || done(views::run())),
];

fn main() -> ExitCode {
    if run_load_if_child() {
        return ExitCode::SUCCESS;
    }
    // Cargo adds `--bench`.
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match names.as_slice() {
        [name] => match BENCHMARKS.iter().find(|(known, _)| known == name) {
            Some((_, benchmark)) => benchmark(),
            None => unknown(name),
        },
        [] => each(BENCHMARKS.iter().map(|(name, _)| *name)),
        names => each(names.iter().map(String::as_str)),
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

fn unknown(name: &str) -> ExitCode {
    let known: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
    eprintln!("no benchmark is called `{name}`; there are {}", known.join(", "));
    ExitCode::FAILURE
}

/// Runs each benchmark in a process of its own, and stops at the first failure.
fn each<'n>(names: impl Iterator<Item = &'n str>) -> ExitCode {
    let program = std::env::current_exe().unwrap();
    for name in names {
        println!("\n{name}\n");
        if !Command::new(&program).arg(name).status().unwrap().success() {
            eprintln!("the benchmark `{name}` failed");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
