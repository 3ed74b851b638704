//! The framing, for the fuzz targets in `tests/fuzz`. Hidden, and always compiled: with a feature of its own the
//! package would be built twice for the tests.

use super::framing::{self, Line};

/// The lines of `input`, read through a buffer of `buffer` bytes; `None` for one of more than `max` bytes.
///
/// # Errors
/// Never: memory can be read.
pub async fn lines(input: &[u8], buffer: usize, max: usize) -> std::io::Result<Vec<Option<Vec<u8>>>> {
    let mut input = tokio::io::BufReader::with_capacity(buffer, input);
    let mut lines = Vec::new();
    while let Some(line) = framing::next(&mut input, max).await? {
        lines.push(match line {
            Line::Whole(line) => Some(line),
            Line::TooLong(_) => None,
        });
    }
    Ok(lines)
}
