//! `cargo run --release -p plugport-tests --bin parallel_attacks [FILTER [SECONDS]]`: runs each attack of the letters F
//! and S with three attackers at once, and prints the waits of a neighbour as Markdown.

#![expect(clippy::print_stdout, reason = "printing a table is what this program is for")]

use std::process::ExitCode;
use std::time::Duration;

use plugport_tests::containment::{ParallelAttack, attack_in_parallel};
use plugport_tests::corpus;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let seconds = std::env::args().nth(2).and_then(|seconds| seconds.parse().ok()).unwrap_or(10);
    let mut failed = 0;
    println!("{}", ParallelAttack::HEADING);
    for (entry, attack) in corpus::parallel_attacks() {
        if !format!("{} {} {}", entry.id, entry.name, attack.source.plugin()).contains(&filter) {
            continue;
        }
        let running = tokio::spawn(attack_in_parallel(attack, Duration::from_secs(seconds)));
        match running.await {
            Ok(found) => println!("{}", found.markdown()),
            Err(_) => {
                failed += 1;
                println!("| {} {attack:?} | **failed** | | | | | | |", entry.id);
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
