//! Newline-delimited framing: one message per line, of bounded length.
//!
//! A line that is too long is read to its end and reported, not buffered: the lines after it can still be read, and the
//! client gets an error for the request that was too long.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::mcp::{IdScanner, OversizedMessage};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its line break.
    Whole(Vec<u8>),
    /// Longer than allowed, so not buffered.
    TooLong(OversizedMessage),
}

/// Reads the next line of at most `max` bytes. `None` at the end of the input.
///
/// # Errors
/// When the input fails.
pub(super) async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    max: usize,
) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut scanner: Option<IdScanner> = None;
    loop {
        let buffer = input.fill_buf().await?;
        if buffer.is_empty() {
            let nothing = line.is_empty() && scanner.is_none();
            return Ok(if nothing { None } else { Some(finish(line, scanner)) });
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = end.map_or(buffer, |end| buffer.get(..end).unwrap_or_default());
        if scanner.is_some() || line.len() + piece.len() > max {
            let scanner = scanner.get_or_insert_default();
            scanner.feed(&std::mem::take(&mut line));
            scanner.feed(piece);
        } else {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(finish(line, scanner)));
        }
    }
}

fn finish(mut line: Vec<u8>, scanner: Option<IdScanner>) -> Line {
    if let Some(scanner) = scanner {
        return Line::TooLong(scanner.finish());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Line::Whole(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_at_breaks_and_long_ones_are_skipped() {
        let text = format!("one\r\n{}\ntwo\n\nlast", "x".repeat(50));
        let mut input = tokio::io::BufReader::with_capacity(7, text.as_bytes());
        let mut seen = Vec::new();
        while let Some(line) = next(&mut input, 10).await.unwrap() {
            seen.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            seen,
            [whole("one"), Line::TooLong(OversizedMessage::Other), whole("two"), whole(""), whole("last")]
        );
    }
}
