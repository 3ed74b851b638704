//! `plugport status`: ask every server of this person how it stands, or those of one configuration, and show it.
//!
//! Servers have their sockets where all of one person do, and once more in their state folders, so one may answer twice.
//! A server tells one JSON document, which is passed on as it came or shown as a table. The table is for people: it has the
//! words of strangers in it, so all of it is made harmless.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::Value;

use super::{CommandError, console};
use crate::cli::{self, Source};
use crate::config::{Config, all_user_state_dirs};
use crate::observe::Escaped;
use crate::transport::status_socket;

/// Hexadecimal digits of a digest that are shown: enough to tell versions apart.
const DIGITS: usize = 12;

/// The columns, by the fields of the document that they show.
const COUNTS: [&str; 5] = ["calls", "running", "failed", "terminated", "rejected"];

pub(super) async fn run(args: cli::Status) -> Result<ExitCode, CommandError> {
    let is_named = args.config.is_some();
    let states = states(args.config)?;
    let (mut documents, mut silent): (Vec<Value>, _) = (Vec::new(), 0);
    for state in &states {
        let answers = match status_socket::query(state).await.map_err(anyhow::Error::from) {
            Ok(answers) => answers,
            // Nobody named this folder, and servers may well have their sockets in another one.
            Err(error) if !is_named => {
                console::eprint(&format!("{error:#}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for (name, answer) in answers {
            match answer.map_err(anyhow::Error::from).and_then(|bytes| read(&bytes)) {
                Ok(document) if documents.iter().any(|known| is_same(known, &document)) => {}
                Ok(document) => documents.push(document),
                Err(why) => {
                    silent += 1;
                    let socket = state.join("run").join(name);
                    console::eprint(&format!("the server at {}: {why:#}", socket.display()));
                }
            }
        }
    }
    if args.json {
        console::print_json(&format!("{:#}", Value::Array(documents.clone())));
    } else if !documents.is_empty() {
        let servers: Vec<String> = documents.iter().map(server).collect();
        console::print(&servers.join("\n\n"));
    }
    if documents.is_empty() && silent == 0 {
        return Err(no_servers(&states).into());
    }
    Ok(if silent == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where servers have their sockets: those of the configuration that is named, or else all of this person's and those of the
/// configuration that is here, which may have been started from another home.
fn states(named: Option<PathBuf>) -> Result<Vec<PathBuf>, CommandError> {
    if let Some(file) = named {
        return Ok(Config::state_folder(&file)?.into_iter().collect());
    }
    let here = Source { plugins: PathBuf::new(), config: None }.file();
    let state = here.map(|file| Config::state_folder(&file)).transpose()?.flatten();
    Ok(all_user_state_dirs().into_iter().chain(state).collect())
}

/// Whether two documents are of the same server.
fn is_same(one: &Value, other: &Value) -> bool {
    ["pid", "since", "serving", "folder"].iter().all(|key| field(one, key) == field(other, key))
}

fn read(document: &[u8]) -> anyhow::Result<Value> {
    serde_json::from_slice(document)
        .context("answered with what is not JSON; is it another version of this program?")
}

fn no_servers(states: &[PathBuf]) -> anyhow::Error {
    let states: Vec<String> = states.iter().map(|state| state.join("run").display().to_string()).collect();
    anyhow::anyhow!(
        "no server of yours runs, as far as {} can tell; start one with `plugport serve`, or ask as the user who runs it",
        if states.is_empty() { "an environment without HOME".to_owned() } else { states.join(" or ") }
    )
}

/// One server, in lines.
fn server(document: &Value) -> String {
    let text = |key: &str| shown(field(document, key));
    let config = match field(document, "config") {
        Value::Null => "no configuration".to_owned(),
        file => format!("configuration {}", shown(file)),
    };
    let mut lines = vec![
        format!(
            "{}: plugport {}, process {}, since {}",
            text("serving"),
            text("version"),
            text("pid"),
            text("since")
        ),
        format!("  plugins in {}, {config}, approval {}", text("folder"), text("approval")),
    ];
    lines.extend(list(document, "problems").iter().map(problem));
    let plugins = list(document, "plugins");
    if plugins.is_empty() {
        lines.push("  no plugins".to_owned());
        return lines.join("\n");
    }
    let mut rows = vec![headings()];
    rows.extend(plugins.iter().map(row));
    let widths = widths(&rows);
    let mut notes = plugins.iter().map(|plugin| reason(plugin).into_iter().chain(unpublished(plugin)));
    for (at, row) in rows.iter().enumerate() {
        lines.push(aligned(row, &widths));
        if at > 0 {
            lines.extend(notes.next().into_iter().flatten());
        }
    }
    lines.join("\n")
}

/// Something that the server cannot follow.
fn problem(problem: &Value) -> String {
    format!("  problem: {}; the state before stays in force", shown(field(problem, "reason")))
}

fn headings() -> Vec<String> {
    let names = ["name", "state", "digest"].into_iter().chain(COUNTS).chain(["limits hit"]);
    names.map(str::to_uppercase).collect()
}

fn row(plugin: &Value) -> Vec<String> {
    // A file that cannot be a plugin has no name.
    let name = if field(plugin, "name").is_null() { field(plugin, "file") } else { field(plugin, "name") };
    let digest = field(plugin, "digest").as_str().map(|digest| digest.trim_start_matches("sha256:"));
    let digest = digest.map_or("-".to_owned(), |digest| digest.chars().take(DIGITS).collect());
    let mut row = vec![shown(name), shown(field(plugin, "state")), Escaped(&digest).to_string()];
    row.extend(COUNTS.map(|count| shown(field(plugin, count))));
    row.push(limits(field(plugin, "limits")));
    row
}

fn limits(limits: &Value) -> String {
    let hit = limits.as_object().into_iter().flatten();
    let hit: Vec<String> = hit.map(|(name, times)| format!("{} {}", Escaped(name), shown(times))).collect();
    if hit.is_empty() { "-".to_owned() } else { hit.join(", ") }
}

fn reason(plugin: &Value) -> Option<String> {
    let why = field(plugin, "reason").as_str()?;
    let left =
        field(plugin, "quarantined_s").as_u64().map(|left| format!("; {left} s left")).unwrap_or_default();
    Some(format!("      {}{left}", Escaped(why)))
}

/// How many items are not published, and why the first one is not.
fn unpublished(plugin: &Value) -> Option<String> {
    let items = list(plugin, "unpublished");
    let first = items.first()?;
    let count = field(plugin, "unpublished_more").as_u64().unwrap_or(0).saturating_add(items.len() as u64);
    let text = |key: &str| shown(field(first, key));
    let item = format!("the {} `{}`: {}", text("kind"), text("name"), text("reason"));
    Some(match count {
        1 => format!("      1 item is not published: {item}"),
        _ => format!("      {count} items are not published; the first is {item}"),
    })
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    widths
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = " ".to_owned();
    for (cell, &width) in row.iter().zip(widths) {
        // Writing to a string does not fail.
        let _ = write!(line, " {cell:<width$} ");
    }
    line.trim_end().to_owned()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    field(value, key).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is missing is shown like what is not there.
fn field<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// A value as text that cannot move a cursor.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => Escaped(text).to_string(),
        Value::Null => "-".to_owned(),
        other => Escaped(&other.to_string()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_is_shown_as_a_table_with_reasons() {
        let document = json!({
            "version": "0.1.0", "pid": 7, "since": "2026-11-21T00:00:00Z", "serving": "stdio", "folder": "plugins",
            "config": null, "approval": "off",
            "plugins": [
                { "name": "a", "state": "serving", "digest": "sha256:0123456789abcdef", "calls": 12, "running": 0,
                  "failed": 1, "terminated": 2, "rejected": 0, "limits": { "fuel": 1, "wall_ms": 1 }, "reason": null },
                { "name": null, "file": "b\u{1b}[2J.wasm", "state": "failed", "digest": null, "calls": 0, "running": 0,
                  "failed": 0, "terminated": 0, "rejected": 0, "limits": {}, "reason": "is\nbad" },
            ],
        });
        let shown = server(&document);
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
        let document = json!({
            "problems": [{ "kind": "lock", "reason": "plugport.lock is torn\u{7}; restore it" }],
            "plugins": [
                { "name": "a", "reason": "not approved", "unpublished": [bad], "unpublished_more": 0 },
                { "name": "b", "reason": null, "unpublished": [bad, bad], "unpublished_more": 40 },
                { "name": "c", "unpublished": [] },
            ],
        });
        let shown = server(&document);
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
    fn what_is_no_document_is_shown_without_harm() {
        assert!(server(&json!(5)).contains("no plugins"));
        assert!(server(&json!({ "plugins": [7, {}] })).lines().count() > 3);
    }
}
