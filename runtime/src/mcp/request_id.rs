//! Request ids and progress tokens: strings or integers that a client chooses.
//!
//! This module is separate from `jsonrpc`, because the id of an oversized message is found without parsing the message.
//! It owns the rules for ids and knows no messages.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

/// A request id or a progress token: a string or an integer, never null. Every message to the client about the request
/// repeats the id, so a string must be [short](IdText). JSON does not bound integers: some clients count beyond 64 bits
/// or write whole numbers as `1.0`, and a client whose id is rejected waits in vain. An integer is sent back with the
/// same value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestId {
    Number(i128),
    Text(IdText),
}

/// A string id, of at most [`IdText::MAX_BYTES`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct IdText(Box<str>);

/// 2^53 - 1: up to here each integer has its own `f64`.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

impl IdText {
    pub(crate) const MAX_BYTES: usize = 256;

    /// Returns `None` if the text is too long.
    pub(crate) fn new(text: &str) -> Option<Self> {
        (text.len() <= Self::MAX_BYTES).then(|| Self(text.into()))
    }
}

impl RequestId {
    /// The rules for an id, as a part of error messages.
    pub(crate) const FORM: &str = "must be a string of at most 256 bytes or an integer of at most 127 bits";

    /// Parses an id.
    ///
    /// # Errors
    /// When the JSON value is not an id.
    pub(crate) fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        match raw.get().as_bytes().first() {
            Some(b'"') => {
                let text: Cow<'_, str> = serde_json::from_str(raw.get())?;
                IdText::new(&text).map(Self::Text).ok_or_else(no_id)
            }
            // Rust parses every JSON integer. serde_json would copy the text first.
            _ => raw.get().parse().ok().or_else(|| whole_number(raw)).map(Self::Number).ok_or_else(no_id),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(IdText(text)) => text.fmt(f),
        }
    }
}

fn no_id() -> serde_json::Error {
    serde_json::Error::custom(RequestId::FORM)
}

/// Parses an integer that is written as a fraction, such as `1.0`, up to [`MAX_EXACT`].
fn whole_number(raw: &RawValue) -> Option<i128> {
    let number: f64 = serde_json::from_str(raw.get()).ok()?;
    (number.fract() == 0.0 && number.abs() <= MAX_EXACT).then_some(number as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl From<&str> for IdText {
        fn from(text: &str) -> Self {
            Self::new(text).unwrap()
        }
    }
}
