//! The framing, for the fuzz targets in `tests/fuzz`. Hidden, and always compiled: behind a feature this package would
//! be built once more for the tests, and a door that is used by nobody costs nothing.

use super::framing::{self, Line};

/// The lines of `input`, read through a buffer of `buffer` bytes; `None` for one of more than `most` bytes.
///
/// # Errors
/// Never: memory can be read.
pub async fn lines(input: &[u8], buffer: usize, most: usize) -> std::io::Result<Vec<Option<Vec<u8>>>> {
    let mut input = tokio::io::BufReader::with_capacity(buffer, input);
    let mut found = Vec::new();
    while let Some(line) = framing::next(&mut input, most).await? {
        found.push(match line {
            Line::Whole(line) => Some(line),
            Line::TooLong(_) => None,
        });
    }
    Ok(found)
}
