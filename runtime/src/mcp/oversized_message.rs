//! Finds the id of a message that is too long to be kept, so that its sender, or the guest that waits for it, gets an
//! error.
//!
//! A client waits for the id of its request, and many write it behind the parameters. So the bytes are looked at while
//! they go by, and nothing is kept of them but the outermost names and what is short. It is no parser: what is not JSON
//! may look as if it were.

use serde_json::value::RawValue;

use super::request_id::RequestId;

/// Longest name or id, bytes. What is cut off there is neither.
const LONGEST: usize = 1_024;

/// What such a message was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OversizedMessage {
    Request(RequestId),
    /// An answer to a request of ours.
    Response(RequestId),
    /// A notification, a batch, or nothing that has an id.
    Other,
}

/// Looks at the bytes of one message.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    /// How many objects and arrays are open.
    depth: usize,
    quoted: bool,
    escaped: bool,
    /// A name or a value of the outermost object, as far as it has come by.
    part: Vec<u8>,
    /// The name to which `part` belongs, with its quotes.
    name: Vec<u8>,
    id: Option<RequestId>,
    /// Whether there was a field `id`.
    named: bool,
    asks: bool,
    answers: bool,
}

impl IdScanner {
    /// Looks at what comes next.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    /// What it was, as far as it has come by.
    pub(crate) fn finish(self) -> OversizedMessage {
        match self.id {
            Some(id) if self.asks => OversizedMessage::Request(id),
            Some(id) if self.answers => OversizedMessage::Response(id),
            _ => OversizedMessage::Other,
        }
    }

    /// The id under which a request can be answered whose bytes are JSON and no request, if it has only one.
    pub(super) fn id_of(bytes: &[u8]) -> Option<RequestId> {
        let mut scanner = Self::default();
        scanner.feed(bytes);
        match scanner.finish() {
            OversizedMessage::Request(id) => Some(id),
            OversizedMessage::Response(_) | OversizedMessage::Other => None,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.quoted {
            self.push_byte(byte);
            self.quoted = self.escaped || byte != b'"';
            self.escaped = byte == b'\\' && !self.escaped;
            return;
        }
        match byte {
            b':' if self.depth == 1 => self.name = std::mem::take(&mut self.part),
            b',' if self.depth == 1 => self.field(),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.field();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                self.push_byte(byte);
                self.quoted = byte == b'"';
                self.depth += usize::from(matches!(byte, b'{' | b'['));
            }
        }
    }

    /// Of a value with an inside, only the first byte is kept, so that it is no id.
    fn push_byte(&mut self, byte: u8) {
        if self.depth == 1 && self.part.len() < LONGEST {
            self.part.push(byte);
        }
    }

    /// A field of the outermost object is complete.
    fn field(&mut self) {
        match self.name.as_slice() {
            br#""id""# => {
                let raw = serde_json::from_slice::<&RawValue>(&self.part);
                let id = raw.and_then(RequestId::read).ok();
                // Of two, nobody knows which one is meant.
                self.id = id.filter(|_| !std::mem::replace(&mut self.named, true));
            }
            br#""method""# => self.asks = true,
            br#""result""# | br#""error""# => self.answers = true,
            _ => {}
        }
        self.name.clear();
        self.part.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skimmed(text: &str) -> OversizedMessage {
        let mut scanner = IdScanner::default();
        // Wherever it is cut, it is the same.
        text.as_bytes().chunks(3).for_each(|piece| scanner.feed(piece));
        scanner.finish()
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let params = r#""params":{"id":7,"a":["}",{"id":8}],"b":"\",\"id\":9,\\"}"#;
        for (text, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m",{params}}}"#), RequestId::Number(1)),
            (format!(r#" {{ {params} , "method" : "m", "id" : -2 }} "#), RequestId::Number(-2)),
            (
                format!(r#"{{{params},"id":"a\"b,c:d ü","method":"id"}}"#),
                RequestId::Text("a\"b,c:d ü".into()),
            ),
            (format!(r#"{{"method":"m","id":3,{params}"#), RequestId::Number(3)),
        ] {
            assert_eq!(skimmed(&text), OversizedMessage::Request(id), "{text}");
        }
        assert_eq!(
            skimmed(r#"{"result":{"id":1},"id":4}"#),
            OversizedMessage::Response(RequestId::Number(4))
        );
        assert_eq!(
            skimmed(r#"{"id":5,"error":{"code":1}}"#),
            OversizedMessage::Response(RequestId::Number(5))
        );
    }

    #[test]
    fn what_has_no_id_that_can_be_used_is_answered_without_one() {
        let long = format!(r#"{{"method":"m","id":"{}"}}"#, "x".repeat(2 * LONGEST));
        for text in [
            "",
            "xxxx",
            r#"{"method":"m","params":{"id":1}}"#,
            r#"{"method":"m","id":null}"#,
            r#"{"method":"m","id":1,"id":2}"#,
            r#"{"method":"m","id":{"id":1}}"#,
            r#"{"method":"m","id":[1]}"#,
            r#"{"method":"m","id":1"#,
            r#"[{"method":"m","id":1}]"#,
            r#""{\"method\":\"m\",\"id\":1}""#,
            r#"{"id":1,"params":{"method":"m"}}"#,
            "}]}{",
            &long,
        ] {
            assert_eq!(skimmed(text), OversizedMessage::Other, "{text}");
        }
    }
}
