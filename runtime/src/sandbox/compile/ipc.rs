//! What a compiling process answers, byte by byte.
//!
//! A process that dies leaves nothing or a part behind, so an answer says what it is and how long it is before it
//! begins. Both ends are this program, often the very same file.

use std::io::{self, Write};

/// Begins every answer; another program's output does not.
const MAGIC: [u8; 8] = *b"PLUGCODE";

/// Bytes before the answer itself.
pub(super) const HEAD: usize = MAGIC.len() + 1 + size_of::<u64>();

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyKind {
    /// Machine code.
    Code,
    /// Why the bytes are not a component.
    Invalid,
}

/// The head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplyHeader {
    pub(super) kind: ReplyKind,
    pub(super) length: u64,
}

impl ReplyHeader {
    /// Reads a head; `None` when it is something else.
    pub(super) fn parse(bytes: &[u8; HEAD]) -> Option<Self> {
        let (kind, length) = bytes.strip_prefix(&MAGIC)?.split_first()?;
        let kind = match kind {
            b'c' => ReplyKind::Code,
            b'i' => ReplyKind::Invalid,
            _ => return None,
        };
        Some(Self { kind, length: u64::from_le_bytes(length.try_into().ok()?) })
    }

    fn bytes(self) -> Vec<u8> {
        let kind = match self.kind {
            ReplyKind::Code => b'c',
            ReplyKind::Invalid => b'i',
        };
        [MAGIC.as_slice(), &[kind], &self.length.to_le_bytes()].concat()
    }
}

/// Reads an answer of this length, after its head.
pub(super) fn body(from: impl io::Read, length: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    io::Read::read_to_end(&mut from.take(length), &mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Writes an answer.
pub(super) fn write(mut to: impl Write, kind: ReplyKind, answer: &[u8]) -> io::Result<()> {
    to.write_all(&ReplyHeader { kind, length: answer.len() as u64 }.bytes())?;
    to.write_all(answer)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mut written = Vec::new();
        write(&mut written, ReplyKind::Invalid, b"no").unwrap();
        let head: [u8; HEAD] = written[..HEAD].try_into().unwrap();
        assert_eq!(ReplyHeader::parse(&head), Some(ReplyHeader { kind: ReplyKind::Invalid, length: 2 }));
        assert_eq!(&written[HEAD..], b"no");
        for at in 0..=MAGIC.len() {
            let mut other = head;
            other[at] ^= 0x20;
            assert_eq!(ReplyHeader::parse(&other), None, "{at}");
        }
    }
}
