//! Measures what tasks cost, each figure beside its aim: calls that end within the grace, 10,000 unfinished tasks, and
//! requests for their status. Reading a file in a component is measured too, since its aim comes from the same issue as
//! those of tasks.
//!
//! `cargo measure tasks` builds the guest and runs this. A program that is not optimised does a small part of it, to
//! show that it works; its figures say nothing.

mod files;
mod grace;
mod post;
mod unfinished;

use std::fmt;

use crate::support::guest_file;

/// A figure and its aim.
struct Figure {
    name: String,
    measured: f64,
    unit: &'static str,
    /// What it may be at most; `None`: it is for comparison.
    aim: Option<f64>,
}

impl Figure {
    fn new(name: &str, measured: f64, unit: &'static str, aim: Option<f64>) -> Self {
        Self { name: name.to_owned(), measured, unit, aim }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, measured, unit, aim } = self;
        write!(f, "{name:<68}{measured:>9.2} {unit:<6}")?;
        match aim {
            Some(aim) => write!(f, "{aim:>9.2}  {}", if measured <= aim { "holds" } else { "missed" }),
            None => Ok(()),
        }
    }
}

/// A count, or a smaller one in a program that is not optimised.
const fn count(optimised: usize, otherwise: usize) -> usize {
    if cfg!(debug_assertions) { otherwise } else { optimised }
}

pub fn run() {
    let guest = guest_file("tasks");
    println!("{:<68}{:>9} {:<6}{:>9}", "", "measured", "", "at most");
    // The unfinished tasks last: they are there until the process ends.
    for measure in [grace::measure, files::measure, unfinished::measure] {
        for figure in measure(&guest) {
            println!("{figure}");
        }
    }
}

fn quantile(mut figures: Vec<f64>, part: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[((figures.len() as f64 * part) as usize).min(figures.len() - 1)]
}
