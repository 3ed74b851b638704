//! Splits one input into several texts at the unit separator, so that an engine that knows only bytes can change each
//! of them, and a person can read and write them.

use std::borrow::Cow;

pub const SEPARATOR: char = '\u{1f}';

/// The texts of an input, from the first to the last. Invalid UTF-8 is replaced, since all targets take text.
pub struct Fields {
    text: String,
    at: usize,
}

impl Fields {
    #[must_use]
    pub fn new(input: &[u8]) -> Self {
        let text = match String::from_utf8_lossy(input) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        };
        Self { text, at: 0 }
    }

    /// The next text, or none when there are no more.
    pub fn maybe(&mut self) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        let end = rest.find(SEPARATOR).unwrap_or(rest.len());
        self.at += end + 1;
        Some(rest[..end].to_owned())
    }

    /// The next text, empty when there are no more.
    pub fn text(&mut self) -> String {
        self.maybe().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_in_order_and_end() {
        let mut fields = Fields::new(b"a\x1f\x1fb\xff");
        assert_eq!(
            (fields.text(), fields.text(), fields.text()),
            ("a".into(), String::new(), "b\u{fffd}".into())
        );
        assert_eq!(fields.maybe(), None);
    }
}
