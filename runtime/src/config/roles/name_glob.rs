//! Patterns of names and URIs, in which `*` stands for any text, also for none and across `/`.
//!
//! Unlike [`PathGlob`](super::PathGlob), a pattern has no segments and knows nothing of paths: it is for names that the
//! server publishes, and not for what a client writes.
//!
//! A pattern is split at its stars once. Its first and its last piece are compared with the ends of a text; each piece
//! between is found as far left as possible, which leaves most text for the pieces after it. Nothing is tried twice, so
//! the time grows with the length of the text and not with the number of stars.

/// A pattern, split at its stars.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NameGlob {
    /// The text before the first star; the whole pattern if it has no star.
    start: Box<str>,
    /// What follows the first star; `None` without a star.
    tail: Option<Tail>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Tail {
    /// The texts between two stars.
    middle: Box<[Box<str>]>,
    /// The text after the last star.
    end: Box<str>,
}

impl NameGlob {
    /// Splits a pattern.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self::spelled(pattern, |piece| piece.to_owned())
    }

    /// Splits a pattern and spells each piece like the texts that it is compared with.
    pub(super) fn spelled(pattern: &str, spell: fn(&str) -> String) -> Self {
        let mut pieces = pattern.split('*').map(|piece| spell(piece).into_boxed_str());
        let start = pieces.next().unwrap_or_default();
        let mut middle: Vec<Box<str>> = pieces.collect();
        let tail = middle.pop().map(|end| {
            middle.retain(|piece| !piece.is_empty());
            Tail { middle: middle.into_boxed_slice(), end }
        });
        Self { start, tail }
    }

    /// The text that the pattern matches, if it has no star.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        self.tail.is_none().then_some(&*self.start)
    }

    /// Whether the pattern matches any text that begins like this.
    #[must_use]
    pub fn may_begin_with(&self, beginning: &str) -> bool {
        let start: &str = &self.start;
        start.starts_with(beginning) || (self.tail.is_some() && beginning.starts_with(start))
    }

    /// Whether the pattern matches the whole text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let Some(tail) = &self.tail else { return *self.start == *text };
        let without_ends = text.strip_prefix(&*self.start).and_then(|rest| rest.strip_suffix(&*tail.end));
        let Some(mut rest) = without_ends else { return false };
        tail.middle.iter().all(|piece| match rest.split_once(&**piece) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_everything_else_for_itself() {
        for (pattern, text, fits) in [
            ("clock", "clock", true),
            ("clock", "clocks", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a/b", true),
            ("files-*", "files-", true),
            ("files-*", "files-read", true),
            ("files-*", "file-read", false),
            ("*-delete", "notes-delete", true),
            ("*-delete", "notes-deleted", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*ab*ba*", "aba", false),
            ("*ab*ba*", "abba", true),
            ("**", "x", true),
            ("a[b]?", "a[b]?", true),
            ("a?", "ab", false),
        ] {
            assert_eq!(NameGlob::new(pattern).matches(text), fits, "{pattern} {text}");
        }
        assert_eq!(NameGlob::new("a").literal(), Some("a"));
        assert_eq!(NameGlob::new("a*").literal(), None);
    }

    #[test]
    fn a_pattern_may_match_what_begins_like_it_or_goes_on_after_its_star() {
        for (pattern, beginning, may) in [
            ("files-read", "files-", true),
            ("files-read", "files-read", true),
            ("files-read", "files-reader", false),
            ("files-*", "files-read", true),
            ("*-delete", "files-", true),
            ("notes-*", "files-", false),
            ("clock", "", true),
        ] {
            assert_eq!(NameGlob::new(pattern).may_begin_with(beginning), may, "{pattern} {beginning}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_few() {
        let pattern = "a*".repeat(120) + "b";
        let text = "a".repeat(1 << 20);
        assert!(!NameGlob::new(&pattern).matches(&text));
        assert!(NameGlob::new(&pattern).matches(&(text + "b")));
    }
}
