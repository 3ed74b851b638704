//! The format of a compiling process's reply: a header, then the body.
//!
//! A process that dies may write nothing or only a part, so the header has the kind and the length of the body. Both
//! processes run this program, usually from the same file.

use std::io::{self, Write};

/// The first bytes of every reply, which tell it from the output of another program.
const MAGIC: [u8; 8] = *b"PLUGCODE";

/// The length of the header in bytes.
pub(super) const HEAD: usize = MAGIC.len() + 1 + size_of::<u64>();

/// The kind of a reply's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyKind {
    /// The machine code.
    Code,
    /// The reason why the input is not a valid component.
    Invalid,
}

/// The header of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplyHeader {
    pub(super) kind: ReplyKind,
    pub(super) length: u64,
}

impl ReplyHeader {
    /// Parses a header; `None` if the bytes are not a header.
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

/// Reads a body of this length, which follows the header.
pub(super) fn body(from: impl io::Read, length: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    io::Read::read_to_end(&mut from.take(length), &mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Writes a reply.
pub(super) fn write(mut to: impl Write, kind: ReplyKind, body: &[u8]) -> io::Result<()> {
    to.write_all(&ReplyHeader { kind, length: body.len() as u64 }.bytes())?;
    to.write_all(body)?;
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
