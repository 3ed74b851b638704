//! Estimates how long reading or writing JSON will take.
//!
//! The length alone says little: reading a megabyte of one string takes less time than reading 64 KiB of objects with
//! one member each. So the estimate counts bytes that can begin or separate tokens, and bytes that can be whitespace or
//! part of a number. It counts them inside strings too, where they cost nothing: the estimate may be too high, but is
//! never far too low.
//!
//! A request is read in several steps, which may follow one another within one poll: its envelope, its parameters, its
//! arguments, the digest that resumes a call. Only one of the steps builds values, which is the main cost of tokens.
//! But every step reads all bytes of strings and whitespace, so these are counted for all steps together. So work that
//! counts as small occupies its worker for a millisecond or two in total, and not in each step.

use super::large_work_threads::SMALL;

/// The length of a block, in bytes. Counts within a block fit into one byte, so the compiler vectorizes counting with
/// one lane for each byte. It is a multiple of 64, so that no byte of a whole block is left to a scalar loop.
const BLOCK: usize = 192;

/// This many bytes of strings are read by all steps together in the time of one unit.
const STRING_BYTES: usize = 8;

/// This many bytes of whitespace or numbers take one unit more than as many bytes of strings.
const NUMBER_BYTES: usize = 8;

/// This many escapes are written in the time of one unit.
const ESCAPES: usize = 2;

/// The units for a byte that begins or separates a token: a member of an object has a name and a value to allocate and
/// to hash.
const TOKEN_WORK: usize = 2;

/// Estimates the work of reading a JSON text, for [`LargeWork::in_place`](super::LargeWork::in_place). The unit is one
/// byte of the most expensive JSON, about 15 ns. A text of up to [`SMALL`] bytes counts with its length.
pub(crate) fn json_work(text: &[u8]) -> usize {
    if text.len() <= SMALL {
        return text.len();
    }
    let bytes = text.len() / STRING_BYTES;
    // The text is large whatever its tokens are, so they need not be counted.
    if bytes > SMALL {
        return bytes;
    }
    let (mut tokens, mut numbers) = (0, 0);
    for block in text.chunks(BLOCK) {
        tokens += usize::from(block.iter().map(|byte| u8::from(is_token(*byte))).sum::<u8>());
        numbers += usize::from(block.iter().map(|byte| u8::from(*byte <= b'9')).sum::<u8>());
    }
    bytes + numbers / NUMBER_BYTES + TOKEN_WORK * tokens
}

/// Estimates the work of writing a text as a JSON string, in the same unit.
pub(crate) fn json_string_work(text: &str) -> usize {
    if text.len() <= SMALL {
        return text.len();
    }
    let bytes = text.len() / STRING_BYTES;
    if bytes > SMALL {
        return bytes;
    }
    let is_escaped = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    let count = |block: &[u8]| usize::from(block.iter().map(|byte| u8::from(is_escaped(*byte))).sum::<u8>());
    let escapes: usize = text.as_bytes().chunks(BLOCK).map(count).sum();
    bytes + escapes / ESCAPES
}

/// Whether a byte can begin or separate a token, or begin an escape. Without branches, so that the compiler vectorizes
/// it.
fn is_token(byte: u8) -> bool {
    let opens = (byte == b'[') | (byte == b'{');
    let separates = (byte == b',') | (byte == b':');
    opens | separates | (byte == b'"') | (byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(piece: &str, bytes: usize) -> usize {
        json_work(format!("[\"{}\"]", piece.repeat(bytes / piece.len())).as_bytes())
    }

    #[test]
    fn a_long_string_is_little_work() {
        assert_eq!(json_work(&vec![b'['; SMALL]), SMALL);
        assert!(repeated("x", 480 << 10) <= SMALL);
        assert!(repeated("aGVsbG8gd29ybGQh", 400 << 10) <= SMALL, "base64");
        assert!(repeated("x", 528 << 10) > SMALL);
    }

    #[test]
    fn escapes_are_more_work_to_write_than_other_text() {
        assert_eq!(json_string_work("short"), 5);
        assert!(json_string_work(&"ü".repeat(128 << 10)) <= SMALL);
        assert!(json_string_work(&"\n".repeat(128 << 10)) > SMALL);
    }

    #[test]
    fn tokens_whitespace_and_numbers_are_more_work_than_strings() {
        for piece in ["[", "{\"\":0},", "0,", "\\n", "\"\","] {
            assert!(repeated(piece, 2 * SMALL) > SMALL, "{piece}");
        }
        for piece in [" ", "\n", "7"] {
            assert!(repeated(piece, 320 << 10) > SMALL, "{piece}");
        }
    }
}
