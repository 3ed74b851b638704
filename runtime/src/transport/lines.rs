//! Newline-delimited frames of bounded length.
//!
//! A line that is too long is read to its end and reported, not buffered: what follows it is still good, and whoever
//! waits for its answer can be told.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::protocol::{Skim, Skimmed};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its line break.
    Whole(Vec<u8>),
    /// Longer than allowed; its bytes are gone.
    TooLong(Skimmed),
}

/// Reads the next line of at most `most` bytes. `None` at the end of the input.
///
/// # Errors
/// When the input fails.
pub(super) async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    most: usize,
) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut skim: Option<Skim> = None;
    loop {
        let buffer = input.fill_buf().await?;
        if buffer.is_empty() {
            let nothing = line.is_empty() && skim.is_none();
            return Ok(if nothing { None } else { Some(finish(line, skim)) });
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = end.map_or(buffer, |end| buffer.get(..end).unwrap_or_default());
        if skim.is_some() || line.len() + piece.len() > most {
            let skim = skim.get_or_insert_default();
            skim.pass(&std::mem::take(&mut line));
            skim.pass(piece);
        } else {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(finish(line, skim)));
        }
    }
}

fn finish(mut line: Vec<u8>, skim: Option<Skim>) -> Line {
    if let Some(skim) = skim {
        return Line::TooLong(skim.end());
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
            [whole("one"), Line::TooLong(Skimmed::Other), whole("two"), whole(""), whole("last")]
        );
    }
}
