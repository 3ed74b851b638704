//! One status document in lines, for people. All text in it is untrusted and is escaped.

use std::fmt::{Display, Write as _};

use super::status_document::{CallCounts, PluginStatus, StatusReport};
use crate::observe::Escaped;

/// Number of hexadecimal digits of a digest that are shown: enough to tell versions apart.
const DIGITS: usize = 12;

const HEADINGS: [&str; 9] =
    ["NAME", "STATE", "DIGEST", "CALLS", "RUNNING", "FAILED", "TERMINATED", "REJECTED", "LIMITS HIT"];

/// One server, in lines.
pub(super) fn table(report: &StatusReport) -> String {
    let StatusReport { version, pid, since, serving, folder, config, approval, problems, plugins } = report;
    let config = match config {
        None => "no configuration".to_owned(),
        Some(file) => format!("configuration {}", shown(file)),
    };
    let mut lines = vec![
        format!("{}: plugport {}, process {pid}, since {}", shown(serving), shown(version), shown(since)),
        format!("  plugins in {}, {config}, approval {}", shown(folder), shown(approval)),
    ];
    lines.extend(
        problems
            .iter()
            .map(|problem| format!("  problem: {}; the state before stays in force", shown(&problem.reason))),
    );
    if plugins.is_empty() {
        lines.push("  no plugins".to_owned());
        return lines.join("\n");
    }
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(plugins.iter().map(row));
    let widths = widths(&rows);
    let notes = plugins.iter().map(|plugin| reason(plugin).into_iter().chain(unpublished(plugin)).collect());
    for (row, notes) in rows.iter().zip(std::iter::once(Vec::new()).chain(notes)) {
        lines.push(aligned(row, &widths));
        lines.extend(notes);
    }
    lines.join("\n")
}

fn row(plugin: &PluginStatus) -> [String; 9] {
    // A file that cannot be a plugin has no name.
    let name = plugin.name.as_ref().or(plugin.file.as_ref());
    let digest = plugin.digest.as_deref().map(|digest| digest.trim_start_matches("sha256:"));
    let digest = digest.map(|digest| digest.chars().take(DIGITS).collect::<String>());
    let CallCounts { calls, running, failed, terminated, rejected, limits, .. } = &plugin.counts;
    let hit: Vec<String> = limits.iter().map(|(name, times)| format!("{} {times}", shown(name))).collect();
    [
        name.map_or_else(none, shown),
        shown(&plugin.state),
        digest.map_or_else(none, shown),
        shown(calls),
        shown(running),
        shown(failed),
        shown(terminated),
        shown(rejected),
        if hit.is_empty() { none() } else { hit.join(", ") },
    ]
}

fn reason(plugin: &PluginStatus) -> Option<String> {
    let why = plugin.reason.as_ref()?;
    let left = plugin.quarantined_s.map(|left| format!("; {left} s left")).unwrap_or_default();
    Some(format!("      {}{left}", shown(why)))
}

/// How many items are not published, and why the first one is not.
fn unpublished(plugin: &PluginStatus) -> Option<String> {
    let items = plugin.unpublished.as_deref().unwrap_or_default();
    let first = items.first()?;
    let count = plugin.unpublished_more.unwrap_or_default().saturating_add(items.len());
    let item = format!("the {} `{}`: {}", shown(&first.kind), shown(&first.name), shown(&first.reason));
    Some(match count {
        1 => format!("      1 item is not published: {item}"),
        _ => format!("      {count} items are not published; the first is {item}"),
    })
}

fn widths(rows: &[[String; 9]]) -> [usize; 9] {
    let mut widths = [0; 9];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    widths
}

fn aligned(row: &[String; 9], widths: &[usize; 9]) -> String {
    let mut line = " ".to_owned();
    for (cell, &width) in row.iter().zip(widths) {
        // Writing to a string does not fail.
        let _ = write!(line, " {cell:<width$} ");
    }
    line.trim_end().to_owned()
}

/// The text for a missing value.
fn none() -> String {
    "-".to_owned()
}

/// A value as text that cannot move a cursor.
fn shown(value: impl Display) -> String {
    Escaped(&value.to_string()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown_table(document: serde_json::Value) -> String {
        table(&serde_json::from_value(document).unwrap())
    }

    #[test]
    fn a_server_is_shown_as_a_table_with_reasons() {
        let shown = shown_table(json!({
            "version": "0.1.0", "pid": 7, "since": "2026-11-21T00:00:00Z", "serving": "stdio", "folder": "plugins",
            "config": null, "approval": "off",
            "plugins": [
                { "name": "a", "state": "serving", "digest": "sha256:0123456789abcdef", "calls": 12, "running": 0,
                  "failed": 1, "terminated": 2, "rejected": 0, "limits": { "fuel": 1, "wall_ms": 1 }, "reason": null },
                { "name": null, "file": "b\u{1b}[2J.wasm", "state": "failed", "digest": null, "calls": 0, "running": 0,
                  "failed": 0, "terminated": 0, "rejected": 0, "limits": {}, "reason": "is\nbad" },
            ],
        }));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "stdio: plugport 0.1.0, process 7, since 2026-11-21T00:00:00Z");
        assert_eq!(lines[1], "  plugins in plugins, no configuration, approval off");
        assert!(lines[2].starts_with("  NAME ") && lines[2].ends_with("LIMITS HIT"), "{shown}");
        assert!(lines[3].contains("0123456789ab ") && lines[3].ends_with("fuel 1, wall_ms 1"), "{shown}");
        assert!(lines[4].starts_with("  b\\u{1b}[2J.wasm  failed "), "{shown}");
        assert_eq!(lines[5], "      is\\u{a}bad");
        let at = |line: &str, word: &str| line.find(word).unwrap();
        assert_eq!(at(lines[2], "STATE"), at(lines[3], "serving"));
    }

    #[test]
    fn what_cannot_be_followed_and_what_is_not_published_is_shown() {
        let bad = json!({ "kind": "tool", "name": "x\u{1b}", "reason": "bad name" });
        let shown = shown_table(json!({
            "problems": [{ "kind": "lock", "reason": "plugport.lock is torn\u{7}; restore it" }],
            "plugins": [
                { "name": "a", "reason": "not approved", "unpublished": [bad], "unpublished_more": 0 },
                { "name": "b", "reason": null, "unpublished": [bad, bad], "unpublished_more": 40 },
                { "name": "c", "unpublished": [] },
            ],
        }));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines[2],
            "  problem: plugport.lock is torn\\u{7}; restore it; the state before stays in force"
        );
        assert_eq!(lines[5], "      not approved");
        assert_eq!(lines[6], "      1 item is not published: the tool `x\\u{1b}`: bad name");
        assert_eq!(lines[8], "      42 items are not published; the first is the tool `x\\u{1b}`: bad name");
        assert_eq!(lines.len(), 10, "{shown}");
    }

    #[test]
    fn what_another_version_leaves_out_is_shown_as_nothing() {
        assert!(shown_table(json!({ "later": 1, "plugins": [{ "later": 2 }] })).lines().count() > 3);
        assert!(shown_table(json!({})).contains("no plugins"));
    }
}
