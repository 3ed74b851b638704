//! Takes secrets out of text that people will read.
//!
//! It knows the values and nothing about where text comes from, so that every way to a reader can use the one mask. A secret
//! of several lines is looked for line by line, since text is cut into lines before anyone sees it; and also as JSON
//! writes it, which is how most programs escape what they print. A plugin that wants to get a secret out can write it
//! backwards; this is for accidents.
//!
//! Guests choose the text and know their secrets, so a search that begins anew at every byte could be made to take as long as
//! the two multiplied. The [`Needles`] pass over each byte once.

mod needles;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use needles::Needles;

/// What stands for a secret.
const SHOWN: &str = "***";

/// Shorter lines of a secret are not looked for: they would be found in ordinary words.
const SHORTEST: usize = 4;

/// The secrets of one plugin, as text to look for. Clones share them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Mask(Arc<Needles>);

impl Mask {
    /// Looks for these.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Self {
        let lines = secrets.into_iter().flat_map(str::lines).filter(|line| line.len() >= SHORTEST);
        let mut forms: Vec<Zeroizing<Vec<u8>>> = Vec::new();
        for line in lines {
            let quoted = Zeroizing::new(serde_json::to_vec(line).unwrap_or_default());
            let escaped = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            if escaped != line.as_bytes() {
                forms.push(Zeroizing::new(escaped.to_vec()));
            }
            forms.push(Zeroizing::new(line.as_bytes().to_vec()));
        }
        Self(Arc::new(Needles::new(&forms)))
    }

    /// Whether it hides anything at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.longest() == 0
    }

    /// Length of the longest text that it looks for: how much beyond its end a cut text must be known.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.0.longest()
    }

    /// The first `end` bytes, with each secret that begins there hidden. What follows may be the rest of one.
    #[must_use]
    pub fn bytes<'t>(&self, text: &'t [u8], end: usize) -> Cow<'t, [u8]> {
        let end = end.min(text.len());
        let found = self.0.find(text, end);
        if found.is_empty() {
            return Cow::Borrowed(text.get(..end).unwrap_or(text));
        }
        let mut masked = Vec::with_capacity(end);
        let mut done = 0;
        for secret in found {
            masked.extend_from_slice(text.get(done..secret.start).unwrap_or_default());
            masked.extend_from_slice(SHOWN.as_bytes());
            done = secret.end;
        }
        masked.extend_from_slice(text.get(done..end).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// The same for text, which is cut between characters.
    #[must_use]
    pub fn within<'t>(&self, text: &'t str, end: usize) -> Cow<'t, str> {
        let end = text.floor_char_boundary(end);
        match self.bytes(text.as_bytes(), end) {
            Cow::Borrowed(_) => Cow::Borrowed(text.get(..end).unwrap_or(text)),
            Cow::Owned(masked) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
        }
    }

    /// The whole text with every secret hidden.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.within(text, text.len())
    }

    /// Text that may be JSON, whose strings may have any character escaped.
    #[must_use]
    pub fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let masked = self.text(text);
        if self.is_empty() || !masked.contains('\\') {
            return masked;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&masked) else { return masked };
        if self.value(&mut value) { Cow::Owned(value.to_string()) } else { masked }
    }

    /// Hides the secrets in all strings of a JSON value; whether there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(masked) => {
                    *text = masked;
                    true
                }
            },
            Value::Array(items) => self.values(items.iter_mut()),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn values<'v>(&self, values: impl Iterator<Item = &'v mut Value>) -> bool {
        // Every one is looked at, whatever was found before.
        values.filter_map(|value| self.value(value).then_some(())).count() > 0
    }

    fn fields(&self, fields: &mut Map<String, Value>) -> bool {
        let mut found = self.values(fields.values_mut());
        if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
            let named = std::mem::take(fields).into_iter();
            *fields = named.map(|(name, value)| (self.text(&name).into_owned(), value)).collect();
            found = true;
        }
        found
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "Mask(none)" } else { "Mask(***)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_it_stands() {
        let mask = Mask::new(["hunter2!", "hunter2!-long", "äöüß"]);
        for (text, shown) in [
            ("", ""),
            ("nothing here", "nothing here"),
            ("hunter2!", "***"),
            ("hunter2!hunter2!", "******"),
            ("a hunter2!-long b", "a *** b"),
            ("hunter2", "hunter2"),
            ("x äöüß y", "x *** y"),
        ] {
            assert_eq!(mask.text(text), shown);
        }
        assert!(matches!(mask.text("nothing"), Cow::Borrowed(_)));
        assert!(!format!("{mask:?}").contains("hunter"));
    }

    #[test]
    fn a_secret_across_the_cut_is_hidden_whole() {
        let mask = Mask::new(["hunter2!"]);
        assert_eq!(mask.within("ab hunter2! and more", 5), "ab ***");
        assert_eq!(mask.within("ab hunter2! and more", 3), "ab ");
        assert_eq!(mask.within("ab hunter2! and more", 13), "ab *** a");
        assert_eq!(Mask::default().within("äö", 3), "ä");
    }

    #[test]
    fn the_lines_of_a_secret_are_hidden_each() {
        let mask = Mask::new(["-----BEGIN-----\r\nabcdefgh\nxy\n-----END-----\n"]);
        assert_eq!(mask.text("k: abcdefgh xy -----BEGIN-----"), "k: *** xy ***");
        assert_eq!(mask.text("-----BEGIN-----\\nabcdefgh"), "***\\n***");
    }

    #[test]
    fn escapes_of_json_hide_nothing() {
        let mask = Mask::new(["say \"hi\" \\ now", "pass/word"]);
        assert_eq!(mask.json(r#""it is say \"hi\" \\ now""#), r#""it is ***""#);
        assert_eq!(mask.json(r#"{"a":["pass\/word",1],"p\u0061ss/word":2}"#), r#"{"a":["***",1],"***":2}"#);
        assert_eq!(mask.json("pass/word \\"), "*** \\", "text that is not JSON");
        assert_eq!(Mask::new(["12345678"]).json("{\"n\":12345678}"), "{\"n\":***}");
    }

    #[test]
    fn secrets_that_overlap_are_hidden_together() {
        let mask = Mask::new(["abcd", "cdef", "xxabcdefgh", "aaaa"]);
        for (text, shown) in [
            ("-abcdef-", "-***-"),
            ("xxabcdefg", "xx***g"),
            ("xxabcdefgh", "***"),
            ("aaaaaa-aaa", "***-aaa"),
            ("abcdabcd", "******"),
        ] {
            assert_eq!(mask.text(text), shown);
        }
        assert_eq!(
            mask.within("-abcdef-", 2),
            "-***",
            "the second begins behind the cut, the first before it"
        );
    }

    #[test]
    fn the_beginning_of_a_secret_is_hidden_where_somebody_cut_the_text() {
        let mask = Mask::new(["hunter2!-long", "unter"]);
        for (text, shown) in [
            ("\"hunter2!-l…; and more", "\"***…; and more"),
            ("it is hunter2!…", "it is ***…"),
            ("hunt…", "***…"),
            ("hun…", "hun…"),
            ("hunter2!-lo", "h***2!-lo"),
            ("hunter2!-long…", "***…"),
        ] {
            assert_eq!(mask.text(text), shown);
        }
        assert_eq!(mask.within("hunter2!-l… and", 4), "***");
    }

    #[test]
    fn a_text_that_is_nearly_a_secret_everywhere_takes_no_longer_than_another() {
        let secret = "ab".repeat(8 << 10);
        let nearly = format!("{}c", "ab".repeat((8 << 10) - 1));
        let mask = Mask::new([secret.as_str()]);
        let started = std::time::Instant::now();
        for text in ["ab".repeat(4_000), nearly.repeat(100), "a".repeat(2 << 20)] {
            assert!(matches!(mask.text(&text), Cow::Borrowed(_)));
        }
        // Begun anew at each byte it is some 10^10 comparisons.
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        assert_eq!(mask.text(&secret.repeat(3)), "***");
    }

    #[test]
    fn nothing_is_hidden_without_secrets_and_short_ones_are_not_looked_for() {
        assert_eq!(Mask::default().text("anything"), "anything");
        assert!(Mask::new(["abc", ""]).is_empty());
    }
}
