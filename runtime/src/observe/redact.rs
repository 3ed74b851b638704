//! Redacts secrets in text that people read.
//!
//! A [`Redactor`] knows the secrets of a plugin but not where a text comes from, so every output can use the same one.
//! Log lines are cut at line ends before anyone sees them, so it searches for each line of a secret separately. It also
//! searches for each line as JSON would escape it, because most programs print JSON. Redaction prevents accidents only:
//! a plugin that wants to leak a secret can write it backwards.
//!
//! Guests choose both the text and their secrets. A search that starts anew at every byte would take time proportional
//! to the product of the two lengths; [`SecretMatcher`] reads each byte once.

mod secret_matcher;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use secret_matcher::SecretMatcher;

/// What replaces a secret.
const REPLACEMENT: &str = "***";

/// Minimum length of a secret's line that is searched for, in bytes: a shorter one would match ordinary words.
const MIN_LENGTH: usize = 4;

/// The secrets of one plugin, prepared for searching. Clones share them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor(Arc<SecretMatcher>);

impl Redactor {
    /// A redactor for these secrets.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Self {
        let lines = secrets.into_iter().flat_map(str::lines).filter(|line| line.len() >= MIN_LENGTH);
        let mut forms: Vec<Zeroizing<Vec<u8>>> = Vec::new();
        for line in lines {
            let quoted = Zeroizing::new(serde_json::to_vec(line).unwrap_or_default());
            let escaped = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            if escaped != line.as_bytes() {
                forms.push(Zeroizing::new(escaped.to_vec()));
            }
            forms.push(Zeroizing::new(line.as_bytes().to_vec()));
        }
        Self(Arc::new(SecretMatcher::new(&forms)))
    }

    /// Whether there are no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.longest() == 0
    }

    /// Length of the longest text that is searched for. Whoever cuts a text must pass this many bytes beyond the cut,
    /// so that a secret across the cut is found.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.0.longest()
    }

    /// Returns the first `end` bytes with each secret that begins in them redacted. The bytes after `end` are read only
    /// to find the rest of a secret that begins before `end`.
    #[must_use]
    pub fn bytes<'t>(&self, text: &'t [u8], end: usize) -> Cow<'t, [u8]> {
        let end = end.min(text.len());
        let secrets = self.0.find(text, end);
        if secrets.is_empty() {
            return Cow::Borrowed(text.get(..end).unwrap_or(text));
        }
        let mut redacted = Vec::with_capacity(end);
        let mut done = 0;
        for secret in secrets {
            redacted.extend_from_slice(text.get(done..secret.start).unwrap_or_default());
            redacted.extend_from_slice(REPLACEMENT.as_bytes());
            done = secret.end;
        }
        redacted.extend_from_slice(text.get(done..end).unwrap_or_default());
        Cow::Owned(redacted)
    }

    /// Like [`Self::bytes`], for text, which is cut between characters.
    #[must_use]
    pub fn prefix<'t>(&self, text: &'t str, end: usize) -> Cow<'t, str> {
        let end = text.floor_char_boundary(end);
        match self.bytes(text.as_bytes(), end) {
            Cow::Borrowed(_) => Cow::Borrowed(text.get(..end).unwrap_or(text)),
            Cow::Owned(redacted) => Cow::Owned(String::from_utf8_lossy(&redacted).into_owned()),
        }
    }

    /// The whole text with every secret redacted.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.prefix(text, text.len())
    }

    /// Redacts text that may be JSON. In strings of JSON any character may be escaped.
    #[must_use]
    pub fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let redacted = self.text(text);
        if self.is_empty() || !redacted.contains('\\') {
            return redacted;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&redacted) else { return redacted };
        if self.value(&mut value) { Cow::Owned(value.to_string()) } else { redacted }
    }

    /// Redacts all strings of a JSON value. Returns whether there were any secrets.
    pub fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(redacted) => {
                    *text = redacted;
                    true
                }
            },
            Value::Array(items) => self.values(items.iter_mut()),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn values<'v>(&self, values: impl Iterator<Item = &'v mut Value>) -> bool {
        // `count`, unlike `any`, does not stop at the first match, so every value is redacted.
        values.filter_map(|value| self.value(value).then_some(())).count() > 0
    }

    fn fields(&self, fields: &mut Map<String, Value>) -> bool {
        let mut redacted = self.values(fields.values_mut());
        if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
            let named = std::mem::take(fields).into_iter();
            *fields = named.map(|(name, value)| (self.text(&name).into_owned(), value)).collect();
            redacted = true;
        }
        redacted
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "Redactor(none)" } else { "Redactor(***)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_it_stands() {
        let redactor = Redactor::new(["hunter2!", "hunter2!-long", "äöüß"]);
        for (text, shown) in [
            ("", ""),
            ("nothing here", "nothing here"),
            ("hunter2!", "***"),
            ("hunter2!hunter2!", "******"),
            ("a hunter2!-long b", "a *** b"),
            ("hunter2", "hunter2"),
            ("x äöüß y", "x *** y"),
        ] {
            assert_eq!(redactor.text(text), shown);
        }
        assert!(matches!(redactor.text("nothing"), Cow::Borrowed(_)));
        assert!(!format!("{redactor:?}").contains("hunter"));
    }

    #[test]
    fn a_secret_across_the_cut_is_hidden_whole() {
        let redactor = Redactor::new(["hunter2!"]);
        assert_eq!(redactor.prefix("ab hunter2! and more", 5), "ab ***");
        assert_eq!(redactor.prefix("ab hunter2! and more", 3), "ab ");
        assert_eq!(redactor.prefix("ab hunter2! and more", 13), "ab *** a");
        assert_eq!(Redactor::default().prefix("äö", 3), "ä");
    }

    #[test]
    fn the_lines_of_a_secret_are_hidden_each() {
        let redactor = Redactor::new(["-----BEGIN-----\r\nabcdefgh\nxy\n-----END-----\n"]);
        assert_eq!(redactor.text("k: abcdefgh xy -----BEGIN-----"), "k: *** xy ***");
        assert_eq!(redactor.text("-----BEGIN-----\\nabcdefgh"), "***\\n***");
    }

    #[test]
    fn escapes_of_json_hide_nothing() {
        let redactor = Redactor::new(["say \"hi\" \\ now", "pass/word"]);
        assert_eq!(redactor.json(r#""it is say \"hi\" \\ now""#), r#""it is ***""#);
        assert_eq!(
            redactor.json(r#"{"a":["pass\/word",1],"p\u0061ss/word":2}"#),
            r#"{"a":["***",1],"***":2}"#
        );
        assert_eq!(redactor.json("pass/word \\"), "*** \\", "text that is not JSON");
        assert_eq!(Redactor::new(["12345678"]).json("{\"n\":12345678}"), "{\"n\":***}");
    }

    #[test]
    fn secrets_that_overlap_are_hidden_together() {
        let redactor = Redactor::new(["abcd", "cdef", "xxabcdefgh", "aaaa"]);
        for (text, shown) in [
            ("-abcdef-", "-***-"),
            ("xxabcdefg", "xx***g"),
            ("xxabcdefgh", "***"),
            ("aaaaaa-aaa", "***-aaa"),
            ("abcdabcd", "******"),
        ] {
            assert_eq!(redactor.text(text), shown);
        }
        assert_eq!(
            redactor.prefix("-abcdef-", 2),
            "-***",
            "the second begins behind the cut, the first before it"
        );
    }

    #[test]
    fn the_beginning_of_a_secret_is_hidden_where_somebody_cut_the_text() {
        let redactor = Redactor::new(["hunter2!-long", "unter"]);
        for (text, shown) in [
            ("\"hunter2!-l…; and more", "\"***…; and more"),
            ("it is hunter2!…", "it is ***…"),
            ("hunt…", "***…"),
            ("hun…", "hun…"),
            ("hunter2!-lo", "h***2!-lo"),
            ("hunter2!-long…", "***…"),
        ] {
            assert_eq!(redactor.text(text), shown);
        }
        assert_eq!(redactor.prefix("hunter2!-l… and", 4), "***");
    }

    #[test]
    fn a_text_that_is_nearly_a_secret_everywhere_takes_no_longer_than_another() {
        let secret = "ab".repeat(8 << 10);
        let nearly = format!("{}c", "ab".repeat((8 << 10) - 1));
        let redactor = Redactor::new([secret.as_str()]);
        let started = std::time::Instant::now();
        for text in ["ab".repeat(4_000), nearly.repeat(100), "a".repeat(2 << 20)] {
            assert!(matches!(redactor.text(&text), Cow::Borrowed(_)));
        }
        // Begun anew at each byte it is some 10^10 comparisons.
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        assert_eq!(redactor.text(&secret.repeat(3)), "***");
    }

    #[test]
    fn nothing_is_hidden_without_secrets_and_short_ones_are_not_looked_for() {
        assert_eq!(Redactor::default().text("anything"), "anything");
        assert!(Redactor::new(["abc", ""]).is_empty());
    }
}
