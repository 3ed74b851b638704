//! What one attack came to, as a row of a table.

use super::neighbour::Latencies;
use super::{Attack, Deed};

/// One row.
#[derive(Debug)]
pub struct Row {
    /// For example `H1 loop_in_call`.
    pub entry: String,
    /// What was done, and how often.
    pub attack: String,
    pub expected: String,
    pub observed: String,
    /// Of a neighbour, before the attack and during it. Nothing was there before a server that loads a file.
    pub before: Option<Latencies>,
    pub during: Latencies,
    /// Bytes and file descriptors that the server had more afterwards.
    pub grown: (i64, i64),
}

impl Row {
    pub(super) fn new(
        entry: &str,
        attack: &Attack,
        observed: String,
        (before, during): (Latencies, Latencies),
        grown: (i64, i64),
    ) -> Self {
        let expected = attack.expected();
        Self {
            entry: entry.to_owned(),
            attack: name(attack),
            expected,
            observed,
            before: Some(before),
            during,
            grown,
        }
    }

    pub(super) fn of_file(
        entry: &str,
        attack: &Attack,
        observed: String,
        after: Latencies,
        grown: (i64, i64),
    ) -> Self {
        let expected = attack.expected();
        Self {
            entry: entry.to_owned(),
            attack: name(attack),
            expected,
            observed,
            before: None,
            during: after,
            grown,
        }
    }

    /// The heading of a Markdown table of rows.
    pub const HEADING: &'static str = "| entry | attack | expected | observed | neighbour p50/p99 before, ms | during, ms | memory, MiB | files |\n\
                                       |---|---|---|---|---|---|---|---|";

    /// The row in Markdown.
    pub fn markdown(&self) -> String {
        let before = self.before.as_ref().map_or("–".to_owned(), waits);
        let memory = self.grown.0 as f64 / f64::from(1 << 20);
        format!(
            "| {} | {} | {} | {} | {before} | {} | {memory:+.1} | {:+} |",
            self.entry,
            self.attack,
            cell(&self.expected),
            cell(&self.observed),
            waits(&self.during),
            self.grown.1
        )
    }
}

fn name(attack: &Attack) -> String {
    let plugin = attack.source.plugin();
    match attack.deed {
        Deed::Calls { tool, arguments: "{}", .. } => format!("`{plugin}` `{tool}` × {}", attack.repeats),
        Deed::Calls { tool, arguments, .. } => {
            format!("`{plugin}` `{tool}` `{arguments}` × {}", attack.repeats)
        }
        Deed::Refused { .. } | Deed::Published { .. } => match attack.source {
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
