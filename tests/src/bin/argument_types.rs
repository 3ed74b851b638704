//! `cargo run -p plugport-tests --bin argument_types [CASES [SEED]]` calls the tools of random argument types, CASES
//! times in each language, and prints where a language differs from the model.
//!
//! The suite does the same with fewer cases and one seed. A seed has 40 types; the next ones are those that follow it.
//!
//! Both write what the server accepts to `target/argument-types/cases-LANGUAGE-SEED.jsonl`. The validation tests of the
//! SDKs compare their test doubles with such a file when `PLUGPORT_VALIDATION_CASES` has its path.

#![expect(clippy::print_stdout, reason = "printing differences is what this program is for")]

use std::process::ExitCode;

use plugport_tests::argument_types::Comparison;
use plugport_tests::languages::Lang;

const LANGUAGES: [Lang; 6] =
    [Lang::Rust, Lang::TypeScript, Lang::JavaScript, Lang::Python, Lang::Go, Lang::C];

const TYPES: usize = 40;

/// Calls of each type, before the next seed makes other types.
const CALLS_OF_EACH: usize = 60;

#[tokio::main]
async fn main() -> ExitCode {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let cases = number(1).unwrap_or(10_000);
    let first_seed = number(2).unwrap_or(1);
    let mut failed = 0;
    for lang in LANGUAGES {
        failed += compare(lang, cases, first_seed).await;
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the differences of one language, and returns how many there are.
async fn compare(lang: Lang, cases: u64, first_seed: u64) -> usize {
    let (mut calls, mut found, mut seed) = (0, 0, first_seed);
    while calls < cases {
        let comparison = Comparison { seed, types: TYPES, calls_of_each: CALLS_OF_EACH };
        let Some((called, differences)) = comparison.run(lang).await else { break };
        differences.iter().for_each(|difference| println!("{} with seed {seed}: {difference}", lang.name()));
        calls += called as u64;
        found += differences.len();
        seed += 1;
    }
    println!("{}: {calls} calls, {found} differences", lang.name());
    found
}
