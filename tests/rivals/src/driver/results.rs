//! All reports of one run, and their medians.

use std::collections::BTreeMap;

use super::cell::Cell;
use super::rival::Rival;
use crate::plan::{Memory, Report};

/// One number of a report.
pub type Figure = fn(&Report) -> f64;

#[derive(Default)]
pub struct Results {
    reports: BTreeMap<(Cell, Rival), Vec<Report>>,
    failures: BTreeMap<(Cell, Rival), String>,
    /// Of servers that have listed their tools and served nobody.
    pub idle: BTreeMap<Rival, Memory>,
}

impl Results {
    pub fn add(&mut self, cell: Cell, rival: Rival, report: Report) {
        self.reports.entry((cell, rival)).or_default().push(report);
    }

    pub fn fail(&mut self, cell: Cell, rival: Rival, why: String) {
        self.failures.insert((cell, rival), why);
    }

    pub fn failure(&self, cell: Cell, rival: Rival) -> Option<&str> {
        self.failures.get(&(cell, rival)).map(String::as_str)
    }

    /// The cells with a report, in the order of `all`.
    pub fn cells(&self) -> Vec<Cell> {
        let measured = |cell: &Cell| self.reports.keys().any(|(other, _)| other == cell);
        super::cell::all().into_iter().filter(measured).collect()
    }

    /// The median of a figure over the rounds.
    pub fn figure(&self, cell: Cell, rival: Rival, figure: Figure) -> Option<f64> {
        let mut values: Vec<f64> = self.reports.get(&(cell, rival))?.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::cell::SMALL;
    use crate::plan::Era;

    #[test]
    fn the_median_is_in_the_middle() {
        let (mut results, cell) = (Results::default(), Cell::http(SMALL, Era::Stateless, 1));
        for cpu_us in [9.0, 1.0, 3.0] {
            results.add(cell, Rival::Bare, Report { cpu_us, ..Report::default() });
        }
        assert_eq!(results.figure(cell, Rival::Bare, |report| report.cpu_us), Some(3.0));
        results.add(cell, Rival::Bare, Report { cpu_us: 5.0, ..Report::default() });
        assert_eq!(results.figure(cell, Rival::Bare, |report| report.cpu_us), Some(4.0));
        assert_eq!(results.figure(cell, Rival::Rmcp, |report| report.cpu_us), None);
    }
}
