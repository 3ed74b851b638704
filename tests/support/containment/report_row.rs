//! The result of one attack as a row of a Markdown table.

use super::neighbour::Latencies;
use super::{Attack, AttackAction};

/// One row.
#[derive(Debug)]
pub struct ReportRow {
    /// For example `H1 loop_in_call`.
    pub entry: String,
    /// What was done, and how often.
    pub attack: String,
    pub expected: String,
    pub observed: String,
    /// Of a neighbour, before the attack and during it. Of a file: without it, and as soon as the server serves.
    pub before: Latencies,
    pub during: Latencies,
    /// Bytes and file descriptors that the server had more afterwards, or more than one without the file.
    pub grown: (i64, i64),
}

impl ReportRow {
    pub(super) fn new(
        entry: &str,
        attack: &Attack,
        observed: String,
        (before, during): (Latencies, Latencies),
        grown: (i64, i64),
    ) -> Self {
        let (entry, attack, expected) = (entry.to_owned(), name(attack), attack.expected());
        Self { entry, attack, expected, observed, before, during, grown }
    }

    /// The heading of a Markdown table of rows.
    pub const HEADING: &'static str = "| entry | attack | expected | observed | neighbour p50/p99 before, ms | during, ms | memory, MiB | files |\n\
                                       |---|---|---|---|---|---|---|---|";

    /// The row in Markdown.
    pub fn markdown(&self) -> String {
        let memory = self.grown.0 as f64 / f64::from(1 << 20);
        format!(
            "| {} | {} | {} | {} | {} | {} | {memory:+.1} | {:+} |",
            self.entry,
            self.attack,
            cell(&self.expected),
            cell(&self.observed),
            waits(&self.before),
            waits(&self.during),
            self.grown.1
        )
    }
}

fn name(attack: &Attack) -> String {
    let plugin = attack.source.plugin();
    match attack.action {
        AttackAction::Calls { tool, arguments: "{}", .. } => {
            format!("`{plugin}` `{tool}` × {}", attack.repeats)
        }
        AttackAction::Calls { tool, arguments, .. } => {
            format!("`{plugin}` `{tool}` `{arguments}` × {}", attack.repeats)
        }
        AttackAction::Rejected { .. } | AttackAction::Published { .. } => match attack.source {
            super::Source::Variant(_, variant) => format!("`{plugin}` {variant} × {}", attack.repeats + 1),
            _ => format!("`{plugin}` × {}", attack.repeats + 1),
        },
    }
}

fn waits(latencies: &Latencies) -> String {
    let ms = |percent| latencies.percentile(percent).as_secs_f64() * 1e3;
    format!("{:.1} / {:.1}", ms(50), ms(99))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
