//! The tables in Markdown: ratios first, then each figure of each server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::aims::{Bound, aims};
use super::case::Case;
use super::results::{Figure, Results};
use super::rival::Rival;

/// Everything of one run.
pub fn tables(results: &Results) -> String {
    let mut footnotes = Footnotes::default();
    let mut text = aims_table(results);
    text += &ratio_table(results);
    let figures: [(&str, Figure); 4] = [
        ("Calls per second", |report| report.per_second),
        ("p50, µs", |report| report.p50_us),
        ("p99, µs", |report| report.p99_us),
        ("Processor time of the server per call, µs", |report| report.cpu_us),
    ];
    for (title, figure) in figures {
        text += &figure_table(results, title, figure, &mut footnotes);
    }
    text += &memory_table(results);
    text + &footnotes.to_string()
}

fn aims_table(results: &Results) -> String {
    let mut text = "| must hold | aim | measured | |\n|---|---|---|---|\n".to_owned();
    for aim in aims(results) {
        let bound = match aim.bound {
            Bound::AtMost(bound) => format!("at most {bound}"),
            Bound::AtLeast(bound) => format!("at least {bound}"),
        };
        let holds = aim.holds().map_or("not measured", |holds| if holds { "holds" } else { "**missed**" });
        writeln!(text, "| {} | {bound} | {} | {holds} |", aim.what, two_digits(aim.measured)).unwrap();
    }
    text + "\n"
}

/// Plugport against the bare handler and against rmcp.
fn ratio_table(results: &Results) -> String {
    let mut text =
        "| | CPU / bare | CPU / rmcp | reused / bare | reused / rmcp | p50 / bare | p50 / rmcp |\n\
                    |---|---|---|---|---|---|---|\n"
            .to_owned();
    for case in results.cases() {
        let of =
            |figure: Figure, rival, other| two_digits(results.ratio(figure, (case, rival), (case, other)));
        let cpu: Figure = |report| report.cpu_us;
        let p50: Figure = |report| report.p50_us;
        let columns = [
            of(cpu, Rival::Fresh, Rival::Bare),
            of(cpu, Rival::Fresh, Rival::Rmcp),
            of(cpu, Rival::Reused, Rival::Bare),
            of(cpu, Rival::Reused, Rival::Rmcp),
            of(p50, Rival::Fresh, Rival::Bare),
            of(p50, Rival::Fresh, Rival::Rmcp),
        ];
        writeln!(text, "| {case} | {} |", columns.join(" | ")).unwrap();
    }
    text + "\n"
}

fn figure_table(results: &Results, title: &str, figure: Figure, footnotes: &mut Footnotes) -> String {
    let rivals = results.rivals();
    let mut text = head(title, &rivals);
    for case in results.cases() {
        let column = |rival: &Rival| match results.figure(case, *rival, figure) {
            Some(value) => number(value) + &footnotes.partly_failed(results, case, *rival),
            None => footnotes.dash(results, case, *rival),
        };
        let columns: Vec<String> = rivals.iter().map(column).collect();
        writeln!(text, "| {case} | {} |", columns.join(" | ")).unwrap();
    }
    text + "\n"
}

fn memory_table(results: &Results) -> String {
    let rivals = results.rivals();
    let mut text = head("Memory, MiB", &rivals);
    let mib = |kib: Option<f64>| kib.map_or("–".to_owned(), |kib| number(kib / 1024.0));
    let idle = |rival: &Rival| mib(results.idle.get(rival).map(|memory| memory.resident as f64));
    let idle: Vec<String> = rivals.iter().map(idle).collect();
    writeln!(text, "| resident, idle | {} |", idle.join(" | ")).unwrap();
    for case in results.cases().into_iter().filter(|case| case.task == super::case::SMALL) {
        let figures: [(&str, Figure); 2] = [
            ("resident", |report| report.memory.resident as f64),
            ("private", |report| report.memory.private as f64),
        ];
        for (name, figure) in figures {
            let column = |rival: &Rival| mib(results.figure(case, *rival, figure));
            let columns: Vec<String> = rivals.iter().map(column).collect();
            writeln!(text, "| {name}, {case} | {} |", columns.join(" | ")).unwrap();
        }
    }
    text + "\n"
}

fn head(title: &str, rivals: &[Rival]) -> String {
    let titles: Vec<&str> = rivals.iter().map(|rival| rival.title()).collect();
    format!("| {title} | {} |\n|---|{}\n", titles.join(" | "), "---|".repeat(rivals.len()))
}

/// Reasons for dashes, numbered in the order in which they appear.
#[derive(Default)]
struct Footnotes {
    numbers: BTreeMap<String, usize>,
}

impl Footnotes {
    fn dash(&mut self, results: &Results, case: Case, rival: Rival) -> String {
        let failed = results.failure(case, rival).map(str::to_owned);
        match rival.cannot(case).map(str::to_owned).or(failed) {
            Some(why) => format!("–{}", self.mark(why)),
            None => "–".to_owned(),
        }
    }

    /// A mark behind a figure without those rounds that failed.
    fn partly_failed(&mut self, results: &Results, case: Case, rival: Rival) -> String {
        let why = results.failure(case, rival).map(|why| format!("a round failed: {why}"));
        why.map_or_else(String::new, |why| self.mark(why))
    }

    fn mark(&mut self, why: String) -> String {
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(why).or_insert(next);
        format!("[{number}]")
    }
}

impl std::fmt::Display for Footnotes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut footnotes: Vec<_> = self.numbers.iter().map(|(why, number)| (number, why)).collect();
        footnotes.sort();
        footnotes.into_iter().try_for_each(|(number, why)| writeln!(f, "- [{number}]: {why}"))
    }
}

fn two_digits(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// `12,345`, `123`, `12.3`.
fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::case::SMALL;
    use crate::plan::{Memory, Report, Revision};

    #[test]
    fn numbers_are_as_exact_as_they_are_read() {
        assert_eq!([99.94, 123.4, 12_345.0, 1_234_567.0].map(number), ["99.9", "123", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_case_without_a_figure_says_why() {
        let mut results = Results::default();
        let case = Case::stdio(Revision::Session);
        results.add(case, Rival::Fresh, Report { per_second: 5.0, ..Report::default() });
        results.fail(case, Rival::Rmcp, "it broke".to_owned());
        results.idle.insert(Rival::Bare, Memory::default());
        let text = tables(&results);
        assert!(text.contains("| Calls per second | bare axum | rmcp native | Plugport |\n"), "{text}");
        assert!(text.contains("| echo 32 B, stdio, session | –[1] | –[2] | 5.0 |\n"), "{text}");
        assert!(text.contains("- [1]: the bare handler serves HTTP only\n- [2]: it broke"), "{text}");
        assert!(text.contains("| not measured |"), "{text}");
        results.fail(case, Rival::Fresh, "it broke later".to_owned());
        let text = tables(&results);
        assert!(text.contains("| –[1] | –[2] | 5.0[3] |"), "{text}");
        assert!(text.contains("- [3]: a round failed: it broke later"), "{text}");
        assert!(results.cases().iter().all(|case| case.task == SMALL));
    }
}
