//! Saved inputs: two files of text for each target, one input on each line. `inputs/TARGET.txt` is written by people,
//! with a comment above every finding; `corpus/TARGET.txt` has the inputs that a run saved, which reach all edges of
//! the run.
//!
//! Bytes are written as Rust writes them in a byte string (`\x1f`, `\n`, `\\`), so that they can be read in a review. A
//! folder of a thousand nameless files could not be reviewed.

use std::path::{Path, PathBuf};

/// The file of a target that people write.
#[must_use]
pub fn written(target: &str) -> PathBuf {
    file("inputs", target)
}

/// The file of a target that a run saved.
#[must_use]
pub fn kept(target: &str) -> PathBuf {
    file("corpus", target)
}

fn file(folder: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(format!("{target}.txt"))
}

/// The inputs of a file; none when there is no such file.
///
/// # Errors
/// When a line of it cannot be read.
pub fn inputs(file: &Path) -> Result<Vec<Vec<u8>>, String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = |(number, line): (usize, &str)| {
        read(line).ok_or_else(|| format!("{}:{}: not an input", file.display(), number + 1))
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(line)
        .collect()
}

/// An input as a line. A leading `#` is escaped, since it would begin a comment.
#[must_use]
pub fn write(input: &[u8]) -> String {
    let line = input.escape_ascii().to_string().replace("\\'", "'").replace("\\\"", "\"");
    match line.strip_prefix('#') {
        Some(rest) => format!("\\x23{rest}"),
        None => line,
    }
}

/// A line as an input. Text without escapes is UTF-8.
#[must_use]
pub fn read(line: &str) -> Option<Vec<u8>> {
    let mut input = Vec::new();
    let mut rest = line.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, tail) = match (*first, tail) {
            (b'\\', [b'x', high, low, tail @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                (u8::try_from(digit(high)? * 16 + digit(low)?).ok()?, tail)
            }
            (b'\\', [b'n', tail @ ..]) => (b'\n', tail),
            (b'\\', [b'r', tail @ ..]) => (b'\r', tail),
            (b'\\', [b't', tail @ ..]) => (b'\t', tail),
            (b'\\', [plain @ (b'\\' | b'\'' | b'"'), tail @ ..]) => (*plain, tail),
            (b'\\', _) => return None,
            (plain, tail) => (plain, tail),
        };
        input.push(byte);
        rest = tail;
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let every: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&write(&every)).as_deref(), Some(&*every));
        assert_eq!(write(b"#{\"a\":'\\'}\x1f"), r#"\x23{"a":'\\'}\x1f"#);
        assert_eq!(read("\u{e9}\\u1"), None);
    }
}
