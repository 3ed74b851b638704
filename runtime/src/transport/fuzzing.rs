//! A function for the fuzz targets in `tests/fuzz`: the framing. It is hidden and always compiled: a cargo feature
//! would make the tests build this package twice.

use tokio::io::BufReader;

use super::framing::{Line, LineReader};

/// Splits `input` into lines through a buffer of `buffer` bytes; `None` stands for a line of more than `max` bytes.
///
/// # Errors
/// Never: reading from memory cannot fail.
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
