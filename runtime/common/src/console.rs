//! Prints for the user: results on stdout, everything else on stderr.

use std::fmt::Write as _;
use std::io::{BufRead as _, Read as _, Write as _};

use crate::{Escaped, StderrWriter, is_deceptive};

/// Prints a result. A closed pipe is ignored: its reader wants no more.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints JSON, which may contain untrusted text, in a form that is also safe on a terminal.
pub fn print_json(text: &str) {
    print(&escape_json(text));
}

/// The same JSON with an escape for every character that could move a cursor or hide text. Such characters occur within
/// strings only, except `\r`, which JSON allows as white space.
fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            '\r' => out.push(' '),
            _ if is_deceptive(character) => escape_character(character, &mut out),
            _ => out.push(character),
        }
    }
    out
}

fn escape_character(character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string does not fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Prints to stderr. Parts of the text may be untrusted, so it is escaped: no part can move the cursor or forge a line
/// that is not indented.
pub fn eprint(text: &str) {
    let lines: String = text.split('\n').map(|line| format!("{}\n", Escaped(line))).collect();
    let _ = StderrWriter.write_all(lines.as_bytes());
}

/// Maximum length of the user's reply in bytes.
const MAX_REPLY: u64 = 1_024;

/// Asks the user a question; only yes confirms. Blocks.
pub fn confirm(question: &str) -> bool {
    let mut stderr = std::io::stderr();
    let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    let mut reply = String::new();
    let read = std::io::stdin().lock().take(MAX_REPLY).read_line(&mut reply);
    read.is_ok() && is_yes(&reply)
}

fn is_yes(reply: &str) -> bool {
    matches!(reply.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Prints an error and its causes, numbered.
pub fn report(error: &anyhow::Error) {
    eprint(&format!("plugport: {error}"));
    for (number, cause) in error.chain().skip(1).enumerate() {
        let text = cause.to_string();
        eprint(&format!("  {}. {}", number + 1, text.replace('\n', "\n     ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        assert!(["y\n", "Y\r\n", " yes "].into_iter().all(is_yes));
        assert!(!["", "\n", "n", "yess", "y y", "ja"].into_iter().any(is_yes));
    }

    #[test]
    fn json_on_a_terminal_moves_no_cursor_and_means_the_same() {
        let words =
            "plain ünïcode ✓ \u{9b}31m \u{7f} \u{202e}x\u{200b} \u{e0041} \u{feff} a\nb\r\u{1b}[2J \\";
        let value = serde_json::json!({ "words": words, "\u{2066}": [words] });
        for text in [value.to_string(), format!("{value:#}").replace('\n', "\r\n\t")] {
            let shown = escape_json(&text);
            assert!(shown.contains("✓ \\u009b31m \\u007f \\u202ex\\u200b \\udb40\\udc41 \\ufeff"), "{shown}");
            assert!(!shown.chars().any(|c| is_deceptive(c) && !matches!(c, '\n' | '\t')), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
