//! `cargo run -p plugport-tests --bin containment [FILTER [REPEATS]]`: runs the hostile corpus and prints what came of it as
//! Markdown. With REPEATS no attack is repeated more often than that, for a quick look.
//!
//! The rows are those that the suite asserts, made by the same code; this only prints them. An attack that is not
//! contained is a row that says so, and the exit code says it too.

#![expect(clippy::print_stdout, reason = "printing a table is what this program is for")]

use std::process::ExitCode;

use plugport_tests::containment::{self, ReportRow, assert_contained};
use plugport_tests::corpus::{self, Evidence};

#[tokio::main]
async fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let most = std::env::args().nth(2).and_then(|most| most.parse().ok()).unwrap_or(u32::MAX);
    let mut escaped = 0;
    println!("{}", ReportRow::HEADING);
    for entry in corpus::entries().filter(|entry| entry.title().contains(&filter)) {
        for attack in entry.attacks() {
            let attack = attack.times(most.min(attack.repeats));
            let running = tokio::spawn(async move { assert_contained(entry.id, &attack).await });
            match running.await {
                Ok(row) => println!("{}", row.markdown()),
                Err(_) => {
                    escaped += 1;
                    println!("| {} | {attack:?} | | **not contained** | | | | |", entry.id);
                }
            }
        }
    }
    elsewhere(&filter);
    if filter.is_empty() {
        escaped += together().await;
    }
    if escaped == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What other tests show, and what none can.
fn elsewhere(filter: &str) {
    println!("\n| entry | what it tries | shown by |\n|---|---|---|");
    for entry in corpus::entries().filter(|entry| entry.title().contains(filter)) {
        for evidence in entry.evidence {
            match evidence {
                Evidence::Contained(_) => {}
                Evidence::Test(name) => {
                    println!("| {} | {} | the test `{name}` |", entry.title(), entry.what)
                }
                Evidence::Soak(name) => {
                    println!("| {} | {} | the long test `{name}` |", entry.title(), entry.what);
                }
                Evidence::Untestable(why) => {
                    println!("| {} | {} | not shown: {why} |", entry.title(), entry.what)
                }
            }
        }
    }
}

/// The whole corpus against one server, and eight spinning guests beside a polite one. How many of the two failed.
async fn together() -> u32 {
    let mut failed = 0;
    println!("\n| all together | |\n|---|---|");
    match tokio::spawn(containment::all_in_sequence()).await {
        Ok(outcome) => println!("| the whole corpus in sequence against one server | {outcome} |"),
        Err(_) => failed += 1,
    }
    match tokio::spawn(containment::eight_spinning_guests()).await {
        Ok(outcome) => println!("| eight spinning guests | {outcome} |"),
        Err(_) => failed += 1,
    }
    failed
}
