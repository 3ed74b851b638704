//! Writes JSON for the host with the host's bound on nesting. serde itself would recurse until the stack of the
//! component is exhausted, which ends the call.

use std::io;

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// The host's bound on nesting. Common parsers fail between this depth and twice as much.
const DEEPEST: usize = 64;

/// The value as JSON text.
pub(crate) fn written(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(128);
    value.serialize(&mut Serializer::with_formatter(&mut text, DepthLimitedFormatter { open: 0 }))?;
    String::from_utf8(text).map_err(serde_json::Error::custom)
}

/// Writes compact JSON and counts the open arrays and objects.
struct DepthLimitedFormatter {
    open: usize,
}

impl DepthLimitedFormatter {
    fn enter(&mut self) -> io::Result<()> {
        self.open += 1;
        if self.open > DEEPEST {
            let depth = format!("it is nested more than {DEEPEST} deep");
            return Err(io::Error::other(depth + "; make it flatter, or parts of it a text"));
        }
        Ok(())
    }
}

impl Formatter for DepthLimitedFormatter {
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open -= 1;
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        CompactFormatter.begin_object(writer)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open -= 1;
        CompactFormatter.end_object(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_nested_too_deeply_is_rejected() {
        let wraps: [fn(Value) -> Value; 2] = [|inner| json!([inner]), |inner| json!({ "a": inner })];
        for wrap in wraps {
            let nested = |depth| (0..depth).fold(json!("here"), |inner, _| wrap(inner));
            assert_eq!(written(&nested(64)).unwrap(), nested(64).to_string());
            let error = written(&nested(65)).unwrap_err().to_string();
            assert!(error.starts_with("it is nested more than 64 deep"), "{error}");
        }
    }

    #[test]
    fn the_rest_is_written_as_serde_does() {
        let row = json!({ "a": [[1.5, null], [], {}], "b": { "c": "\u{e9}\n" } });
        let rows = vec![row; 100];
        assert_eq!(written(&rows).unwrap(), serde_json::to_string(&rows).unwrap());
    }
}
