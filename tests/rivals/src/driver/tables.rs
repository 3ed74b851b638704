//! The tables in Markdown: ratios first, then each figure of each server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::aims::{Bound, aims};
use super::cell::Cell;
use super::results::{Figure, Results};
use super::rival::Rival;

/// Everything of one run.
pub fn tables(results: &Results) -> String {
    let mut notes = Notes::default();
    let mut text = aims_table(results);
    text += &ratio_table(results);
    let figures: [(&str, Figure); 4] = [
        ("Calls per second", |report| report.per_second),
        ("p50, µs", |report| report.p50_us),
        ("p99, µs", |report| report.p99_us),
        ("Processor time of the server per call, µs", |report| report.cpu_us),
    ];
    for (title, figure) in figures {
        text += &figure_table(results, title, figure, &mut notes);
    }
    text += &memory_table(results);
    text + &notes.to_string()
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
    for cell in results.cells() {
        let of =
            |figure: Figure, rival, other| two_digits(results.ratio(figure, (cell, rival), (cell, other)));
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
        writeln!(text, "| {cell} | {} |", columns.join(" | ")).unwrap();
    }
    text + "\n"
}

fn figure_table(results: &Results, title: &str, figure: Figure, notes: &mut Notes) -> String {
    let rivals = results.rivals();
    let mut text = head(title, &rivals);
    for cell in results.cells() {
        let column = |rival: &Rival| match results.figure(cell, *rival, figure) {
            Some(value) => number(value) + &notes.partly_failed(results, cell, *rival),
            None => notes.dash(results, cell, *rival),
        };
        let columns: Vec<String> = rivals.iter().map(column).collect();
        writeln!(text, "| {cell} | {} |", columns.join(" | ")).unwrap();
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
    for cell in results.cells().into_iter().filter(|cell| cell.task == super::cell::SMALL) {
        let figures: [(&str, Figure); 2] = [
            ("resident", |report| report.memory.resident as f64),
            ("private", |report| report.memory.private as f64),
        ];
        for (name, figure) in figures {
            let column = |rival: &Rival| mib(results.figure(cell, *rival, figure));
            let columns: Vec<String> = rivals.iter().map(column).collect();
            writeln!(text, "| {name}, {cell} | {} |", columns.join(" | ")).unwrap();
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
struct Notes {
    numbers: BTreeMap<String, usize>,
}

impl Notes {
    fn dash(&mut self, results: &Results, cell: Cell, rival: Rival) -> String {
        let failed = results.failure(cell, rival).map(str::to_owned);
        match rival.cannot(cell).map(str::to_owned).or(failed) {
            Some(why) => format!("–{}", self.mark(why)),
            None => "–".to_owned(),
        }
    }

    /// A mark behind a figure without those rounds that failed.
    fn partly_failed(&mut self, results: &Results, cell: Cell, rival: Rival) -> String {
        let why = results.failure(cell, rival).map(|why| format!("a round failed: {why}"));
        why.map_or_else(String::new, |why| self.mark(why))
    }

    fn mark(&mut self, why: String) -> String {
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(why).or_insert(next);
        format!("[{number}]")
    }
}

impl std::fmt::Display for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut notes: Vec<_> = self.numbers.iter().map(|(why, number)| (number, why)).collect();
        notes.sort();
        notes.into_iter().try_for_each(|(number, why)| writeln!(f, "- [{number}]: {why}"))
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
    use crate::driver::cell::SMALL;
    use crate::plan::{Era, Memory, Report};

    #[test]
    fn numbers_are_as_exact_as_they_are_read() {
        assert_eq!([99.94, 123.4, 12_345.0, 1_234_567.0].map(number), ["99.9", "123", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_cell_without_a_figure_says_why() {
        let mut results = Results::default();
        let cell = Cell::stdio(Era::Session);
        results.add(cell, Rival::Fresh, Report { per_second: 5.0, ..Report::default() });
        results.fail(cell, Rival::Rmcp, "it broke".to_owned());
        results.idle.insert(Rival::Bare, Memory::default());
        let text = tables(&results);
        assert!(text.contains("| Calls per second | bare axum | rmcp native | Plugport |\n"), "{text}");
        assert!(text.contains("| echo 32 B, stdio, session | –[1] | –[2] | 5.0 |\n"), "{text}");
        assert!(text.contains("- [1]: the bare handler serves HTTP only\n- [2]: it broke"), "{text}");
        assert!(text.contains("| not measured |"), "{text}");
        results.fail(cell, Rival::Fresh, "it broke later".to_owned());
        let text = tables(&results);
        assert!(text.contains("| –[1] | –[2] | 5.0[3] |"), "{text}");
        assert!(text.contains("- [3]: a round failed: it broke later"), "{text}");
        assert!(results.cells().iter().all(|cell| cell.task == SMALL));
    }
}
