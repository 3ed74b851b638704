//! The framing, for the fuzz targets in `tests/fuzz`. Hidden, and always compiled: with a feature of its own the
//! package would be built twice for the tests.

use tokio::io::BufReader;

use super::framing::{Line, LineReader};

/// The lines of `input`, read through a buffer of `buffer` bytes; `None` for one of more than `max` bytes.
///
/// # Errors
/// Never: memory can be read.
pub async fn lines(input: &[u8], buffer: usize, max: usize) -> std::io::Result<Vec<Option<Vec<u8>>>> {
    let mut input = LineReader::new(BufReader::with_capacity(buffer, input), max);
    let mut lines = Vec::new();
    while let Some(line) = input.next().await? {
        lines.push(match line {
            Line::Whole(line) => Some(line),
            Line::TooLong(_) => None,
        });
    }
    Ok(lines)
}
