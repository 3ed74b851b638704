//! `cargo run -p plugport-tests --bin containment [FILTER [REPEATS]]` runs the hostile corpus and prints the outcomes
//! as the Markdown of `docs/containment.md`. REPEATS is the maximum number of repeats of an attack.
//!
//! The suite asserts the same rows with the same code; this program only prints them. An attack that is not contained
//! gets a row that says so, and the program exits with a failure.

#![expect(clippy::print_stdout, reason = "printing a table is what this program is for")]

use std::process::ExitCode;

use plugport_tests::containment::{self, ReportRow, assert_contained, list_item};
use plugport_tests::corpus::{self, Evidence};

#[tokio::main]
async fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let max_repeats = std::env::args().nth(2).and_then(|repeats| repeats.parse().ok()).unwrap_or(u32::MAX);
    let mut failed = print_attacks(&filter, max_repeats).await;
    print_other_evidence(&filter);
    if filter.is_empty() {
        failed += print_combined_attacks().await;
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs each attack, prints the table of them and what clients or the log were told, and returns how many were not
/// contained.
async fn print_attacks(filter: &str, max_repeats: u32) -> u32 {
    let (mut failed, mut observed) = (0, Vec::new());
    println!("{}", ReportRow::HEADING);
    for entry in corpus::entries().filter(|entry| entry.title().contains(filter)) {
        for (number, attack) in (1..).zip(entry.attacks()) {
            let id = format!("{}.{number}", entry.id);
            let attack = attack.times(max_repeats.min(attack.repeats));
            let running = tokio::spawn(async move { assert_contained(entry.id, &attack).await });
            match running.await {
                Ok(row) => {
                    println!("{}", row.markdown(&id));
                    observed.push(row.observed_item(&id));
                }
                Err(_) => {
                    failed += 1;
                    println!("| {id} | {attack:?} | **not contained** | | | | |");
                }
            }
        }
    }
    println!("\n{}", observed.join("\n"));
    failed
}

/// Prints the entries that other tests show, or that no test can show.
fn print_other_evidence(filter: &str) {
    println!();
    for entry in corpus::entries().filter(|entry| entry.title().contains(filter)) {
        let evidence: Vec<String> = entry.evidence.iter().filter_map(other_evidence).collect();
        if !evidence.is_empty() {
            println!("{}", list_item("- ", &format!("**{}**: {}", entry.title(), entry.what)));
            evidence.iter().for_each(|evidence| println!("{}", list_item("  - ", evidence)));
        }
    }
}

fn other_evidence(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::Contained(_) => None,
        Evidence::Test(name) => Some(format!("test `{name}`")),
        Evidence::Soak(name) => Some(format!("long test `{name}`")),
        Evidence::Untestable(why) => Some(format!("not shown: {why}")),
    }
}

/// Runs the whole corpus against one server, and eight spinning guests beside a polite one; prints both and returns
/// how many failed.
async fn print_combined_attacks() -> u32 {
    let mut failed = 0;
    println!("\n| what | outcome |\n|---|---|");
    match tokio::spawn(containment::all_in_sequence()).await {
        Ok(outcome) => println!("| the whole corpus in sequence, one server | {outcome} |"),
        Err(_) => failed += 1,
    }
    match tokio::spawn(containment::eight_spinning_guests()).await {
        Ok(outcome) => println!("| eight spinning guests | {outcome} |"),
        Err(_) => failed += 1,
    }
    failed
}
