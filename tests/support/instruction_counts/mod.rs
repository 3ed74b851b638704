//! Counts what a request costs the real program: instructions and allocations, under valgrind.
//!
//! Times on a shared machine are noise. Counts are not: two runs differ by one or two percent, so a change that makes a
//! path longer shows, however busy the machine is. The counts of the program that `cargo verify` builds are recorded in
//! `tests/instruction_counts.toml`, and `cargo verify counts` compares with them.

mod callgrind;
mod cost;
mod counter;
mod hot_paths;
mod precompile;
mod profile_totals;

use std::path::PathBuf;

pub use cost::{Cost, Costs, MAX_GROWTH, from_toml, improvements, regressions, to_toml};
pub use hot_paths::measure;
pub use precompile::{COMPILE, compile};
pub use profile_totals::ProfileTotals;

use crate::build::{root, target};

/// The file with the recorded counts.
pub fn recorded_file() -> PathBuf {
    root().join("tests/instruction_counts.toml")
}

/// Where the last run left its counts, and the profile of each path for `callgrind_annotate`.
pub fn results_folder() -> PathBuf {
    target("instruction_counts")
}

/// The file with the counts of the last run.
pub fn measured_file() -> PathBuf {
    results_folder().join("measured.toml")
}
