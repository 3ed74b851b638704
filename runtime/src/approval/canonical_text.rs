//! Everything that a client sees of an item, as text that a person can read and a program can compare.
//!
//! Items that differ have different texts: each part begins with a label at the start of a line, and untrusted text
//! never stands there. Only white space between the parts of JSON is lost.

use std::fmt::Display;

use serde_json::value::RawValue;

use crate::json::RawObject;
use crate::observe::is_deceptive;

/// The text, written part by part.
#[derive(Debug, Default)]
pub(super) struct ItemText(String);

impl ItemText {
    /// A part that is text.
    pub(super) fn text(&mut self, label: &str, text: &str) -> &mut Self {
        // Few fields may have deceptive characters, and the operator must see each of them.
        let hidden = |character: char| is_deceptive(character) && character != '\n';
        if text.contains(hidden) {
            return self.lines(&format!("{label}, quoted"), text.split('\n').map(quoted));
        }
        match text {
            "" => self.lines(label, std::iter::empty()),
            text if text.contains('\n') => self.lines(label, text.split('\n').map(str::to_owned)),
            text => self.word(label, text),
        }
    }

    /// The same, unless there is none.
    pub(super) fn optional(&mut self, label: &str, text: Option<&String>) -> &mut Self {
        match text {
            Some(text) => self.text(label, text),
            None => self,
        }
    }

    /// A part that is JSON, unless there is none.
    pub(super) fn json(&mut self, label: &str, json: Option<&String>) -> &mut Self {
        let Some(json) = json else { return self };
        let indented = match serde_json::from_str::<&RawValue>(json) {
            Ok(value) => {
                let mut indented = String::new();
                write_indented(value.get(), 0, &mut indented);
                indented
            }
            // Validated fields are JSON, so this does not happen.
            Err(_) => quoted(json),
        };
        self.lines(label, indented.split('\n').map(str::to_owned))
    }

    /// A part that is a word or a number.
    pub(super) fn word(&mut self, label: &str, word: impl Display) -> &mut Self {
        self.0.push_str(&format!("{label}: {word}\n"));
        self
    }

    /// Parts that are written already.
    pub(super) fn part(&mut self, parts: &str) -> &mut Self {
        self.0.push_str(parts);
        self
    }

    /// The whole, which ends with the end of a line.
    pub(super) fn finish(self) -> String {
        self.0
    }

    fn lines(&mut self, label: &str, lines: impl Iterator<Item = String>) -> &mut Self {
        self.0.push_str(&format!("{label}:\n"));
        lines.for_each(|line| self.0.push_str(&format!("  {line}\n")));
        self
    }
}

/// Writes JSON with a line for each member. Strings are written anew with the fewest escapes, so that escapes hide no
/// words; numbers stay as they were written, since parsing could lose digits.
fn write_indented(json: &str, depth: usize, out: &mut String) {
    match json.as_bytes().first() {
        Some(b'{') => {
            let object = serde_json::from_str::<RawObject>(json).unwrap_or_default();
            let members =
                object.iter().map(|(name, value)| (format!("{}: ", json_string(name)), value.get()));
            write_members("{", members, "}", depth, out);
        }
        Some(b'[') => {
            let array = serde_json::from_str::<Vec<&RawValue>>(json).unwrap_or_default();
            write_members("[", array.iter().map(|value| (String::new(), value.get())), "]", depth, out);
        }
        Some(b'"') => match serde_json::from_str::<String>(json) {
            Ok(text) => out.push_str(&json_string(&text)),
            Err(_) => out.push_str(json),
        },
        _ => out.push_str(json),
    }
}

fn write_members<'j>(
    open: &str,
    members: impl Iterator<Item = (String, &'j str)>,
    close: &str,
    depth: usize,
    out: &mut String,
) {
    out.push_str(open);
    let mut count = 0;
    for (name, value) in members {
        out.push_str(if count == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        out.push_str(&name);
        write_indented(value, depth + 1, out);
        count += 1;
    }
    if count > 0 {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push_str(close);
}

/// A string as JSON, on one line.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The same, with deceptive characters escaped.
fn quoted(text: &str) -> String {
    json_string(text)
        .chars()
        .map(|c| if is_deceptive(c) { c.escape_unicode().to_string() } else { c.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        let mut out = ItemText::default();
        out.text("title", text);
        out.finish()
    }

    fn json(text: &str) -> String {
        let mut out = ItemText::default();
        out.json("schema", Some(&text.to_owned()));
        out.finish()
    }

    #[test]
    fn no_text_looks_like_two_parts() {
        assert_eq!(text(""), "title:\n");
        assert_eq!(text(" x"), "title:  x\n");
        assert_eq!(text("x\ndescription: y\n"), "title:\n  x\n  description: y\n  \n");
        assert_eq!(text("x\r\ny"), "title, quoted:\n  \"x\\r\"\n  \"y\"\n");
        assert_eq!(text("\u{200b}"), "title, quoted:\n  \"\\u{200b}\"\n");
        let texts = ["", "\n", "\n\n", "x", " x", "x\n", "\"x\"", "x\r", "x\\r", "\u{200b}", "\\u{200b}"];
        for (at, one) in texts.iter().enumerate() {
            assert!(texts.iter().skip(at + 1).all(|other| text(one) != text(other)), "{one:?}");
        }
    }

    #[test]
    fn json_is_told_by_what_it_means_and_numbers_to_the_last_digit() {
        let one = json(r#"{"a":[1.0,{},[]],"\u0062":"\u0041\/\n"}"#);
        assert_eq!(
            one,
            "schema:\n  {\n    \"a\": [\n      1.0,\n      {},\n      []\n    ],\n    \"b\": \"A/\\n\"\n  }\n"
        );
        assert_eq!(one, json(" { \"a\" : [ 1.0 , { } , [ ] ] ,\n\"b\" : \"A/\\n\" } "));
        for other in
            [r#"{"a":[1.00,{},[]],"b":"A/\n"}"#, r#"{"b":"A/\n","a":[1.0,{},[]]}"#, r#"{"a":[1.0,{},[]]}"#]
        {
            assert_ne!(one, json(other), "{other}");
        }
        assert_ne!(json("123456789012345678901"), json("123456789012345678902"));
        assert_eq!(json("{"), "schema:\n  \"{\"\n");
    }
}
