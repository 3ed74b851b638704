//! Newline-delimited framing: one message per line, of bounded length.
//!
//! A line that is too long is not buffered: the reader skips to its end and reports it. So the lines after it can still
//! be read, and the client gets an error for the request in it.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::mcp::{IdScanner, OversizedMessage};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its line break.
    Whole(Vec<u8>),
    /// A line that exceeds the maximum length. It was skipped.
    TooLong(OversizedMessage),
}

/// Splits input into lines of at most `max` bytes.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    input: BufReader<R>,
    max: usize,
    /// The beginning of the next line.
    line: Vec<u8>,
    /// Finds the request id in a line that is too long.
    scanner: Option<IdScanner>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(input: BufReader<R>, max: usize) -> Self {
        Self { input, max, line: Vec::new(), scanner: None }
    }

    /// Reads the next line; `None` at the end of the input. Cancel-safe: the beginning of a line stays in `self`.
    ///
    /// # Errors
    /// When the input fails.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.next_buffered() {
                return Ok(Some(line));
            }
            if self.input.fill_buf().await?.is_empty() {
                let nothing = self.line.is_empty() && self.scanner.is_none();
                return Ok(if nothing { None } else { Some(self.finish()) });
            }
        }
    }

    /// Returns the next line if it is in the buffer completely.
    pub(super) fn next_buffered(&mut self) -> Option<Line> {
        let buffer = self.input.buffer();
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = end.map_or(buffer, |end| buffer.get(..end).unwrap_or_default());
        if self.scanner.is_some() || self.line.len() + piece.len() > self.max {
            let scanner = self.scanner.get_or_insert_default();
            scanner.feed(&std::mem::take(&mut self.line));
            scanner.feed(piece);
        } else {
            self.line.extend_from_slice(piece);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        self.input.consume(used);
        end.map(|_| self.finish())
    }

    /// Whether the buffer contains another complete line.
    pub(super) fn has_line(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }

    fn finish(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        if let Some(scanner) = self.scanner.take() {
            return Line::TooLong(scanner.finish());
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_are_cut_at_breaks_and_long_ones_are_skipped() {
        let text = format!("one\r\n{}\ntwo\n\nlast", "x".repeat(50));
        let mut input = LineReader::new(BufReader::with_capacity(7, text.as_bytes()), 10);
        let mut seen = Vec::new();
        while let Some(line) = input.next().await.unwrap() {
            seen.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            seen,
            [whole("one"), Line::TooLong(OversizedMessage::Other), whole("two"), whole(""), whole("last")]
        );
    }

    #[tokio::test]
    async fn the_beginning_of_a_line_is_kept_while_nobody_waits_for_its_end() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut input = LineReader::new(BufReader::new(server), 10);
        client.write_all(b"on").await.unwrap();
        assert!(input.next().now_or_never().is_none());
        client.write_all(b"e\ntwo\nth").await.unwrap();
        assert!(!input.has_line() && input.next_buffered().is_none());
        assert_eq!(input.next().await.unwrap(), Some(Line::Whole(b"one".to_vec())));
        assert!(input.has_line());
        assert_eq!(input.next_buffered(), Some(Line::Whole(b"two".to_vec())));
        assert!(!input.has_line() && input.next_buffered().is_none());
        drop(client);
        assert_eq!(input.next().await.unwrap(), Some(Line::Whole(b"th".to_vec())));
        assert_eq!(input.next().await.unwrap(), None);
    }
}
