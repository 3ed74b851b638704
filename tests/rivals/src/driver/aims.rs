//! What must hold, beside what was measured.

use super::case::{Case, SMALL};
use super::results::{Figure, Results};
use super::rival::Rival;
use crate::plan::{Report, Revision, Task};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

pub struct Aim {
    pub what: String,
    pub bound: Bound,
    pub measured: Option<f64>,
}

impl Aim {
    pub fn holds(&self) -> Option<bool> {
        self.measured.map(|measured| match self.bound {
            Bound::AtMost(bound) => measured <= bound,
            Bound::AtLeast(bound) => measured >= bound,
        })
    }
}

fn cpu(report: &Report) -> f64 {
    report.cpu_us
}

fn p50(report: &Report) -> f64 {
    report.p50_us
}

fn rate(report: &Report) -> f64 {
    report.per_second
}

pub fn aims(results: &Results) -> Vec<Aim> {
    let of = |case: Case, figure: Figure, rival, other| results.ratio(figure, (case, rival), (case, other));
    let mut aims = Vec::new();
    let mut add = |what: &str, bound, measured| aims.push(Aim { what: what.to_owned(), bound, measured });
    for (revision, name) in [(Revision::Stateless, "stateless"), (Revision::Session, "session")] {
        let (one, many) = (Case::http(SMALL, revision, 1), Case::http(SMALL, revision, 64));
        let (fresh, reused) = (Rival::Fresh, Rival::Reused);
        let what = |rest: &str| format!("{name}: {rest}");
        let at_most = Bound::AtMost;
        add(&what("CPU at 64 connections / rmcp"), at_most(0.8), of(many, cpu, fresh, Rival::Rmcp));
        add(&what("CPU at 64 connections / bare"), at_most(3.0), of(many, cpu, fresh, Rival::Bare));
        add(&what("CPU at 64 connections, reused / bare"), at_most(2.0), of(many, cpu, reused, Rival::Bare));
        add(&what("p50 of one caller / bare"), at_most(2.4), of(one, p50, fresh, Rival::Bare));
        let stdio = results.ratio(cpu, (Case::stdio(revision), fresh), (one, fresh));
        add(&what("CPU over stdio / over HTTP"), at_most(1.0), stdio);
        let faster = of(many, rate, fresh, Rival::FastMcp);
        add(&what("calls per second at 64 connections / fastmcp"), Bound::AtLeast(10.0), faster);
        let over_stdio = Case::stdio(revision);
        for other in [Rival::Wassette, Rival::HyperMcp] {
            if other.cannot(over_stdio).is_none() {
                let what = what(&format!("calls per second over stdio / {}", other.title()));
                add(&what, Bound::AtLeast(3.0), of(over_stdio, rate, fresh, other));
            }
        }
        let level = of(over_stdio, rate, reused, Rival::Act);
        add(&what("calls per second over stdio, reused / ACT"), Bound::AtLeast(1.0), level);
    }
    for (task, name) in [(Task::Echo(64 << 10), "64 KiB"), (Task::Echo(1 << 20), "1 MiB")] {
        let case = Case::http(task, Revision::Stateless, 1);
        add(
            &format!("p50 of an echo of {name} / bare"),
            Bound::AtMost(2.0),
            of(case, p50, Rival::Fresh, Rival::Bare),
        );
    }
    for tools in [100, 5_000] {
        let case = Case::http(Task::List(tools), Revision::Stateless, 1);
        let measured = of(case, cpu, Rival::Fresh, Rival::Bare);
        add(&format!("CPU of a list of {tools} tools / bare"), Bound::AtMost(1.3), measured);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = |connections| (Case::http(Task::Work, Revision::Stateless, connections), Rival::Fresh);
    let scaled = results.ratio(rate, work(8), work(1));
    add(
        &format!("10 ms of work per second, 8 callers / 1, on {cores} cores"),
        Bound::AtLeast(0.9 * cores as f64),
        scaled,
    );
    let idle = results.idle.get(&Rival::Fresh).map(|memory| memory.resident as f64 * 1024.0 / 1e6);
    add("resident memory, idle, with one plugin, MB", Bound::AtMost(20.0), idle);
    aims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_held_against_its_bound() {
        let mut results = Results::default();
        let case = Case::http(SMALL, Revision::Stateless, 64);
        for (rival, cpu_us) in [(Rival::Fresh, 90.0), (Rival::Rmcp, 100.0), (Rival::Bare, 30.0)] {
            results.add(case, rival, Report { cpu_us, ..Report::default() });
        }
        let aims = aims(&results);
        assert_eq!((aims[0].measured, aims[0].holds()), (Some(0.9), Some(false)));
        assert_eq!((aims[1].measured, aims[1].holds()), (Some(3.0), Some(true)));
        assert_eq!(aims[3].holds(), None);
    }
}
