//! The sections of a WebAssembly file, as far as they can be read. Whoever asks can do without: the engine reads the
//! whole file and rejects what is damaged.

/// Sections that are read. Components have some dozens.
const SECTIONS: usize = 10_000;

/// Magic number and version.
const HEADER: usize = 8;

/// A section that tools define, in modules and components.
pub(crate) const CUSTOM: u8 = 0;

/// The sections of the file itself, not of what is nested in it: the id and the body of each, up to the first that
/// cannot be read.
pub fn sections(file: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = file.get(HEADER..).unwrap_or_default();
    let sections = std::iter::from_fn(move || {
        let (id, body, after) = section(rest)?;
        rest = after;
        Some((id, body))
    });
    sections.take(SECTIONS)
}

/// The first section: its id, its body, and the bytes after it.
fn section(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (id, bytes) = bytes.split_first()?;
    let (body, after) = prefixed(bytes)?;
    Some((*id, body, after))
}

/// The custom sections of the file itself: the name and the data of each.
pub fn custom_sections(file: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    sections(file).filter(|(id, _)| *id == CUSTOM).filter_map(|(_, body)| prefixed(body))
}

/// As many bytes as the number before them says, and what follows them.
pub(crate) fn prefixed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, bytes) = number(bytes)?;
    bytes.split_at_checked(length)
}

/// A LEB128 number of at most 32 bits, and the bytes after it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(number).ok()?, bytes.get(at + 1..)?));
        }
    }
    None
}

/// Writes bytes after their number.
pub(crate) fn write_prefixed(bytes: &[u8], out: &mut Vec<u8>) {
    let mut number = bytes.len();
    while number > 0x7f {
        out.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    out.push(number as u8);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_where_one_cannot_be_read() {
        let file = b"\0asm\x0d\0\x01\0\x00\x02xy\x0a\x01z\x0b\x7f";
        let found: Vec<_> = sections(file).collect();
        assert_eq!(found, [(CUSTOM, &b"xy"[..]), (10, &b"z"[..])]);
        assert_eq!(sections(b"\0as").count(), 0);
        assert_eq!(number(&[0x80; 9]), None);
    }

    #[test]
    fn what_is_written_after_its_number_is_read_again() {
        for length in [0, 1, 127, 128, 300, 20_000] {
            let (bytes, mut out) = (vec![7; length], Vec::new());
            write_prefixed(&bytes, &mut out);
            out.push(1);
            assert_eq!(prefixed(&out), Some((bytes.as_slice(), &[1_u8][..])));
        }
    }
}
