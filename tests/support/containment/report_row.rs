//! The result of one attack in Markdown: a row of the table, and what clients or the log were told.

use super::neighbour::Latencies;
use super::{Attack, AttackAction, limit_in};

/// The longest line of this repository's Markdown, in bytes.
const LINE_BYTES: usize = 120;

/// The result of one attack.
#[derive(Debug)]
pub struct ReportRow {
    /// The guest, the tool and the number of repeats.
    pub attack: String,
    /// The arguments of the tool, unless there are none.
    pub arguments: Option<&'static str>,
    /// How each repeat ended, with the limit if there was one.
    pub outcome: String,
    /// The beginning of what the client or the log was told.
    pub observed: String,
    /// Of a neighbour, before the attack and during it. Of a file: without it, and as soon as the server serves.
    pub before: Latencies,
    pub during: Latencies,
    /// Bytes and file descriptors that the server had more afterwards, or more than one without the file.
    pub grown: (i64, i64),
}

impl ReportRow {
    pub(super) fn new(
        attack: &Attack,
        observed: String,
        (before, during): (Latencies, Latencies),
        grown: (i64, i64),
    ) -> Self {
        let arguments = match attack.action {
            AttackAction::Calls { arguments, .. } => Some(arguments).filter(|arguments| *arguments != "{}"),
            AttackAction::Rejected { .. } | AttackAction::Published { .. } => None,
        };
        let outcome = outcome(attack, &observed);
        Self { attack: name(attack), arguments, outcome, observed, before, during, grown }
    }

    /// The heading of the table.
    pub const HEADING: &'static str = "| attack | guest and tool | outcome | before, ms | during, ms | memory, MiB | files |\n\
                                       |---|---|---|---|---|---|---|";

    /// The row of the table for the attack with this id, such as `H1.2`.
    pub fn markdown(&self, id: &str) -> String {
        let memory = self.grown.0 as f64 / f64::from(1 << 20);
        format!(
            "| {id} | {} | {} | {} | {} | {memory:+.1} | {:+} |",
            self.attack,
            self.outcome,
            waits(&self.before),
            waits(&self.during),
            self.grown.1
        )
    }

    /// The list item that says what the client or the log was told.
    pub fn observed_item(&self, id: &str) -> String {
        let arguments = self.arguments.map(|arguments| format!(" with `{arguments}`")).unwrap_or_default();
        list_item("- ", &format!("**{id}**{arguments}: {}", self.observed))
    }
}

/// An item of a Markdown list, in lines that are short enough.
pub fn list_item(bullet: &str, text: &str) -> String {
    let mut item = bullet.trim_end().to_owned();
    let mut width = item.len();
    for word in text.split_whitespace() {
        let word = if word.len() > 100 {
            format!("{}…", &word[..word.floor_char_boundary(100)])
        } else {
            word.to_owned()
        };
        if width + 1 + word.len() > LINE_BYTES {
            item = item + "\n" + &" ".repeat(bullet.len() - 1);
            width = bullet.len() - 1;
        }
        item = item + " " + &word;
        width += 1 + word.len();
    }
    item
}

fn name(attack: &Attack) -> String {
    let plugin = attack.source.plugin();
    match attack.action {
        AttackAction::Calls { tool, .. } => format!("`{plugin}` `{tool}` × {}", attack.repeats),
        AttackAction::Rejected { .. } | AttackAction::Published { .. } => match attack.source {
            super::Source::Variant(_, variant) => format!("`{plugin}` {variant} × {}", attack.repeats + 1),
            _ => format!("`{plugin}` × {}", attack.repeats + 1),
        },
    }
}

fn outcome(attack: &Attack, observed: &str) -> String {
    let outcome = match attack.action {
        AttackAction::Calls { outcome, .. } => outcome,
        AttackAction::Rejected { .. } => "rejected",
        AttackAction::Published { .. } => "published",
    };
    limit_in(observed).map_or_else(|| outcome.to_owned(), |limit| format!("{outcome}, `{limit}`"))
}

fn waits(latencies: &Latencies) -> String {
    let ms = |percent| latencies.percentile(percent).as_secs_f64() * 1e3;
    format!("{:.1} / {:.1}", ms(50), ms(99))
}
