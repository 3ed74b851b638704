//! All reports of one run, and their medians.

use std::collections::BTreeMap;

use super::case::Case;
use super::rival::{RIVALS, Rival};
use crate::plan::{Memory, Report};

/// One number of a report.
pub type Figure = fn(&Report) -> f64;

#[derive(Default)]
pub struct Results {
    /// One for each round; `None`: it failed.
    rounds: BTreeMap<(Case, Rival), Vec<Option<Report>>>,
    failures: BTreeMap<(Case, Rival), String>,
    /// Of servers that have listed their tools and served nobody.
    pub idle: BTreeMap<Rival, Memory>,
}

impl Results {
    pub fn add(&mut self, case: Case, rival: Rival, report: Report) {
        self.rounds.entry((case, rival)).or_default().push(Some(report));
    }

    pub fn fail(&mut self, case: Case, rival: Rival, why: String) {
        self.rounds.entry((case, rival)).or_default().push(None);
        self.failures.insert((case, rival), why);
    }

    pub fn failure(&self, case: Case, rival: Rival) -> Option<&str> {
        self.failures.get(&(case, rival)).map(String::as_str)
    }

    /// The servers that are there.
    pub fn rivals(&self) -> Vec<Rival> {
        let measured = |rival: &Rival| self.rounds.keys().any(|(_, other)| other == rival);
        RIVALS.into_iter().filter(|rival| self.idle.contains_key(rival) || measured(rival)).collect()
    }

    /// The cases that were measured, or could not be, in the order of `all`.
    pub fn cases(&self) -> Vec<Case> {
        let measured = |case: &Case| self.rounds.keys().any(|(other, _)| other == case);
        super::case::all().into_iter().filter(measured).collect()
    }

    /// The median of a figure over the rounds.
    pub fn figure(&self, case: Case, rival: Rival, figure: Figure) -> Option<f64> {
        median(self.rounds.get(&(case, rival))?.iter().flatten().map(figure).collect())
    }

    /// The median of the ratios of each round: what disturbs the machine for a round disturbs both.
    pub fn ratio(&self, figure: Figure, one: (Case, Rival), other: (Case, Rival)) -> Option<f64> {
        let rounds = self.rounds.get(&one)?.iter().zip(self.rounds.get(&other)?);
        let ratio = |(one, other): (&Option<Report>, &Option<Report>)| {
            Some(figure(one.as_ref()?) / figure(other.as_ref()?))
        };
        median(rounds.filter_map(ratio).collect())
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(values[middle - 1].midpoint(values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::case::SMALL;
    use crate::plan::Revision;

    #[test]
    fn the_median_is_in_the_middle() {
        let (mut results, case) = (Results::default(), Case::http(SMALL, Revision::Stateless, 1));
        for cpu_us in [9.0, 1.0, 3.0] {
            results.add(case, Rival::Bare, Report { cpu_us, ..Report::default() });
        }
        assert_eq!(results.figure(case, Rival::Bare, |report| report.cpu_us), Some(3.0));
        results.add(case, Rival::Bare, Report { cpu_us: 5.0, ..Report::default() });
        assert_eq!(results.figure(case, Rival::Bare, |report| report.cpu_us), Some(4.0));
        assert_eq!(results.figure(case, Rival::Rmcp, |report| report.cpu_us), None);
    }

    #[test]
    fn figures_of_the_same_round_are_compared() {
        let (mut results, case) = (Results::default(), Case::http(SMALL, Revision::Stateless, 1));
        let report = |cpu_us| Report { cpu_us, ..Report::default() };
        for (fresh, bare) in [(20.0, 10.0), (300.0, 100.0), (40.0, 10.0)] {
            results.add(case, Rival::Fresh, report(fresh));
            results.add(case, Rival::Bare, report(bare));
        }
        let ratio = |results: &Results| {
            results.ratio(|report| report.cpu_us, (case, Rival::Fresh), (case, Rival::Bare))
        };
        assert_eq!(ratio(&results), Some(3.0));
        results.fail(case, Rival::Fresh, "it broke".to_owned());
        results.add(case, Rival::Bare, report(1.0));
        assert_eq!((ratio(&results), results.failure(case, Rival::Fresh)), (Some(3.0), Some("it broke")));
        results.fail(Case::stdio(Revision::Session), Rival::Rmcp, "it broke too".to_owned());
        assert_eq!(results.cases().len(), 2, "a row in which all fail is shown");
    }
}
