//! `cargo verify counts` and `cargo measure instructions` run this program: it counts what requests cost the `plugport`
//! beside it, in instructions and allocations.
//!
//! `check` compares with the recorded counts, which are those of the program that `cargo verify` builds. `print` prints
//! the counts of any build, beside the aims for an optimised one.

#![expect(clippy::print_stdout, reason = "printing counts is what this program is for")]

use std::path::Path;
use std::process::ExitCode;

use plugport_tests::instruction_counts::{
    COMPILE, Cost, Costs, MAX_GROWTH, compile, from_toml, improvements, measure, measured_file,
    recorded_file, regressions, results_folder, to_toml,
};

/// The aims for the optimised program, by path.
const AIMS: [(&str, Cost); 1] = [("call", Cost { instructions: 110_000, allocations: 60.0 })];

const USAGE: &str = "instruction_counts check | print";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [COMPILE, guest] => {
            compile(Path::new(guest)).await;
            ExitCode::SUCCESS
        }
        ["check"] => check().await,
        ["print"] => {
            let aims = AIMS.map(|(name, cost)| (name.to_owned(), cost));
            print(&measure().await, "aim", &Costs::from(aims));
            ExitCode::SUCCESS
        }
        _ => {
            println!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Compares with the recorded counts, and says what to do about a path that grew.
async fn check() -> ExitCode {
    let recorded = std::fs::read_to_string(recorded_file()).map_err(|error| error.to_string());
    let recorded = recorded.and_then(|text| from_toml(&text).map_err(|error| error.to_string()));
    let recorded = match recorded {
        Ok(recorded) => recorded,
        Err(error) => {
            println!("{}: {error}", recorded_file().display());
            return ExitCode::FAILURE;
        }
    };
    let measured = measure().await;
    let (to, recorded_at) = (measured_file(), recorded_file());
    if let Err(error) = std::fs::write(&to, to_toml(&measured)) {
        println!("{}: {error}", to.display());
        return ExitCode::FAILURE;
    }
    print(&measured, "recorded", &recorded);
    let record = format!("cp {} {}", to.display(), recorded_at.display());
    for saved in improvements(&recorded, &measured) {
        println!("{saved}; record that, so that it stays: {record}");
    }
    let regressions = regressions(&recorded, &measured);
    if regressions.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\n{}\n", regressions.join("\n"));
    println!(
        "A count may grow by {:.0} %. Make the path shorter; this shows its functions:",
        MAX_GROWTH * 100.0
    );
    println!("  callgrind_annotate {}", results_folder().join("PATH.callgrind").display());
    println!("If the growth is meant, record it, and say in the commit what it buys:\n  {record}");
    ExitCode::FAILURE
}

/// Prints a table of the counts, beside others where there are any.
fn print(costs: &Costs, others: &str, beside: &Costs) {
    println!("{:<24}{:>14}{others:>14}{:>14}{others:>10}", "one request", "instructions", "allocations");
    for (name, cost) in costs {
        let (instructions, allocations) = beside.get(name).map_or_else(Default::default, |other| {
            (other.instructions.to_string(), format!("{:.1}", other.allocations))
        });
        println!(
            "{name:<24}{:>14}{instructions:>14}{:>14.1}{allocations:>10}",
            cost.instructions, cost.allocations
        );
    }
}
