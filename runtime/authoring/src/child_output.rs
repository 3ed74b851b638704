//! Reads the output of a child process line by line, with a bound on the length of lines.

use plugport_common::{console, truncate};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Maximum bytes of a line that are read; cargo's messages are far shorter.
const MAX_READ: usize = 64 << 10;

/// Maximum bytes of a line that are shown.
const MAX_SHOWN: usize = 4 << 10;

/// Passes every line to `each`, until the pipe ends or fails.
pub(crate) async fn read_lines(from: impl AsyncRead + Unpin, mut each: impl FnMut(&str)) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(buffer) = from.fill_buf().await {
        if buffer.is_empty() {
            break;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = end.map_or(buffer, |end| buffer.get(..end).unwrap_or_default());
        let fitting = MAX_READ.saturating_sub(line.len()).min(piece.len());
        line.extend_from_slice(piece.get(..fitting).unwrap_or_default());
        let used = end.map_or(buffer.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            emit_line(&line, &mut each);
            line.clear();
        }
    }
    if !line.is_empty() {
        emit_line(&line, &mut each);
    }
}

/// Emits the end of the line after the last carriage return: programs show progress by overwriting a line, and a
/// terminal would show only that end.
fn emit_line(line: &[u8], each: &mut impl FnMut(&str)) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\r');
    each(text.rsplit('\r').next().unwrap_or(text));
}

/// Prints a line of a child to stderr.
pub(crate) fn print_line(line: &str) {
    console::eprint(&truncate(MAX_SHOWN, format_args!("{line}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_the_last_needs_no_break() {
        let text = format!("one\r\n10%\r20%\r\n\n{}\nlast", "x".repeat(MAX_READ + 9));
        let mut seen = Vec::new();
        read_lines(text.as_bytes(), |line| seen.push(line.to_owned())).await;
        let lengths: Vec<_> = seen.iter().map(String::len).collect();
        assert_eq!((&seen[0][..], &seen[1][..], &seen[4][..]), ("one", "20%", "last"));
        assert_eq!(lengths, [3, 3, 0, MAX_READ, 4]);
    }
}
