//! The id of a request, and what else a client names with a string or an integer: its progress.
//!
//! Apart from the messages, since an id is read also where no message can be: in one that is too long to be kept. Owns
//! which ids are allowed; knows nothing of what carries them.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

/// What names something of a client's: a string or an integer, never null. Requests and progress have one, and every
/// message that goes back for them repeats it, so a string is [short](IdText). Integers are those of JSON, which no
/// machine word bounds: clients count beyond 64 bits, write whole numbers as `1.0`, and wait in vain when one is
/// rejected. It goes back as that value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestId {
    Number(i128),
    Text(IdText),
}

/// A string that a client chose and that is kept and sent back: at most [`IdText::MOST`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct IdText(Box<str>);

/// The largest whole number up to which a fraction leaves none out.
const EXACT: f64 = 9_007_199_254_740_991.0;

impl IdText {
    pub(crate) const MOST: usize = 256;

    /// `None` when it is too long.
    pub(crate) fn new(text: &str) -> Option<Self> {
        (text.len() <= Self::MOST).then(|| Self(text.into()))
    }
}

impl RequestId {
    /// What an id is, for the error that rejects another.
    pub(crate) const FORM: &str = "must be a string of at most 256 bytes or an integer of at most 127 bits";

    /// Reads one.
    ///
    /// # Errors
    /// When it is no id.
    pub(crate) fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        match raw.get().as_bytes().first() {
            Some(b'"') => {
                let text: Cow<'_, str> = serde_json::from_str(raw.get())?;
                IdText::new(&text).map(Self::Text).ok_or_else(|| serde_json::Error::custom(Self::FORM))
            }
            _ => serde_json::from_str(raw.get()).or_else(|error| whole(raw).ok_or(error)).map(Self::Number),
        }
    }
}

/// A whole number written as a fraction, as far as fractions are exact.
fn whole(raw: &RawValue) -> Option<i128> {
    let number: f64 = serde_json::from_str(raw.get()).ok()?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i128)
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
