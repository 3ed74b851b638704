//! Finds the id of a message that is too long to be stored. So the client gets an error for its request, or the guest
//! that waits for the response gets one.
//!
//! A client matches an error by the id of its request, and many clients write the id after the parameters. So
//! [`IdScanner`] scans all bytes as they arrive, and stores only the outermost names and short values. It does not
//! check that the bytes are JSON.

use serde_json::value::RawValue;

use super::request_id::RequestId;

/// Maximum length of a stored name or value, in bytes. A longer one is cut, and is then neither a known name nor an id.
const MAX_BYTES: usize = 1_024;

/// The kind of an oversized message, with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OversizedMessage {
    Request(RequestId),
    /// A response to a request of the server.
    Response(RequestId),
    /// A notification, a batch, or a message without a usable id.
    Other,
}

/// Scans the bytes of one message.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    /// How many objects and arrays are open.
    depth: usize,
    quoted: bool,
    escaped: bool,
    /// The current name or value of the outermost object.
    part: Vec<u8>,
    /// The name of the field whose value is `part`, with its quotes.
    name: Vec<u8>,
    id: Option<RequestId>,
    has_id: bool,
    has_method: bool,
    /// Whether there was a field `result` or `error`.
    has_outcome: bool,
}

impl IdScanner {
    /// Scans the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    /// The kind of the message, from the bytes so far.
    pub(crate) fn finish(self) -> OversizedMessage {
        match self.id {
            Some(id) if self.has_method => OversizedMessage::Request(id),
            Some(id) if self.has_outcome => OversizedMessage::Response(id),
            _ => OversizedMessage::Other,
        }
    }

    /// Returns the id of a malformed request whose bytes are JSON, if it has exactly one id.
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
            b',' if self.depth == 1 => self.end_field(),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
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

    /// Stores only the first byte of an object or array, so that it cannot be taken for an id.
    fn push_byte(&mut self, byte: u8) {
        if self.depth == 1 && self.part.len() < MAX_BYTES {
            self.part.push(byte);
        }
    }

    /// Handles a complete field of the outermost object.
    fn end_field(&mut self) {
        match self.name.as_slice() {
            br#""id""# => {
                let raw = serde_json::from_slice::<&RawValue>(&self.part);
                let id = raw.and_then(RequestId::read).ok();
                // With two ids it is unknown which of them the client uses.
                self.id = id.filter(|_| !std::mem::replace(&mut self.has_id, true));
            }
            br#""method""# => self.has_method = true,
            br#""result""# | br#""error""# => self.has_outcome = true,
            _ => {}
        }
        self.name.clear();
        self.part.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> OversizedMessage {
        let mut scanner = IdScanner::default();
        // The result must not depend on how the bytes are split.
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
            assert_eq!(scanned(&text), OversizedMessage::Request(id), "{text}");
        }
        assert_eq!(
            scanned(r#"{"result":{"id":1},"id":4}"#),
            OversizedMessage::Response(RequestId::Number(4))
        );
        assert_eq!(
            scanned(r#"{"id":5,"error":{"code":1}}"#),
            OversizedMessage::Response(RequestId::Number(5))
        );
    }

    #[test]
    fn a_message_without_a_usable_id_gets_an_error_without_one() {
        let long = format!(r#"{{"method":"m","id":"{}"}}"#, "x".repeat(2 * MAX_BYTES));
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
            assert_eq!(scanned(text), OversizedMessage::Other, "{text}");
        }
    }
}
