//! A URI, divided into the characters of which values consist.
//!
//! A character is one of UTF-8, plain or percent-encoded. The division does not depend on where a value begins, so a
//! value never begins or ends inside a character. `%00` is no character: in some languages it ends a string.

use super::CharClass;

/// Most bytes of one character in UTF-8.
const CHARACTER: usize = 4;

/// A URI and its characters.
pub(super) struct UriText<'a> {
    text: &'a str,
    /// For each byte the length of the character that begins there; 0 inside a character, and for a `%` that encodes
    /// none.
    lengths: Vec<u8>,
}

impl<'a> UriText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lengths = vec![0; text.len()];
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = character(rest);
            if let Some(slot) = lengths.get_mut(at) {
                *slot = length;
            }
            at += usize::from(length).max(1);
        }
        Self { text, lengths }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn rest(&self, at: usize) -> &[u8] {
        self.text.as_bytes().get(at..).unwrap_or_default()
    }

    /// The text between two positions.
    pub(super) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The end of the character at `at`, if it is of this class.
    pub(super) fn after(&self, at: usize, class: CharClass) -> Option<usize> {
        let length = self.lengths.get(at).filter(|length| **length > 0)?;
        self.byte(at).filter(|byte| class.has(*byte)).map(|_| at + usize::from(*length))
    }

    /// The ends of one character of this class, of two, and so on.
    pub(super) fn ends(&self, at: usize, class: CharClass) -> impl Iterator<Item = usize> {
        std::iter::successors(self.after(at, class), move |end| self.after(*end, class))
    }
}

/// The bytes of the first character, or 0.
fn character(text: &str) -> u8 {
    let Some(first) = text.chars().next().filter(|first| *first != '%') else {
        return encoded(text.as_bytes());
    };
    u8::try_from(first.len_utf8()).unwrap_or_default()
}

/// The bytes of the percent-encoding of one character, or 0.
fn encoded(text: &[u8]) -> u8 {
    let mut bytes = Vec::with_capacity(CHARACTER);
    let mut length = 0;
    for triple in text.chunks(3).take(CHARACTER) {
        let Some(byte) = triple_value(triple) else { return 0 };
        bytes.push(byte);
        length += 3;
        if std::str::from_utf8(&bytes).is_ok() {
            return if bytes == [0] { 0 } else { length };
        }
    }
    0
}

/// The byte that `%41` encodes.
fn triple_value(triple: &[u8]) -> Option<u8> {
    let [b'%', high, low] = triple else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// Decodes percent-encoding. The text consists of whole characters, so decoding does not fail.
pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let decoded = rest.split_at_checked(3).and_then(|(triple, tail)| Some((triple_value(triple)?, tail)));
        let (byte, tail) = decoded.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
