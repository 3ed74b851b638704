//! Reads the lines that are added to the audit. Another process writes the file, and may rotate it or truncate a
//! partial line at any time.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

/// Maximum bytes that one call reads; the next call reads the rest.
const MAX_READ: usize = 256 << 10;

/// Maximum length of a line; the audit's are far shorter.
const MAX_LINE: usize = 256 << 10;

/// Reads a growing file from where it stopped.
pub(super) struct AuditTail {
    path: PathBuf,
    file: Option<File>,
    offset: u64,
    /// The beginning of a line that is not complete yet.
    partial: Vec<u8>,
}

impl AuditTail {
    /// Starts at the current end of the file, or at the beginning of a file that does not exist yet.
    pub(super) fn from_end(path: PathBuf) -> Self {
        let file = File::open(&path).ok();
        let length = file.as_ref().and_then(|file| file.metadata().ok()).map(|metadata| metadata.len());
        Self { path, file, offset: length.unwrap_or_default(), partial: Vec::new() }
    }

    /// The lines that were added since the last call.
    pub(super) fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut budget = MAX_READ;
        budget -= self.read(budget, &mut lines);
        if budget > 0 && self.open_rotated() {
            self.read(budget, &mut lines);
        }
        lines
    }

    /// Reads at most `budget` bytes, and returns how many.
    fn read(&mut self, budget: usize, lines: &mut Vec<String>) -> usize {
        let Some(file) = &self.file else { return 0 };
        let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        if length < self.offset {
            // A partial line was truncated, which may be the one that was read.
            self.offset = length;
            self.partial.clear();
        }
        let available = usize::try_from(length - self.offset).unwrap_or(usize::MAX);
        let mut bytes = vec![0; available.min(budget)];
        let read = file.read_at(&mut bytes, self.offset).unwrap_or_default();
        self.offset += read as u64;
        self.split(bytes.get(..read).unwrap_or_default(), lines);
        read
    }

    fn split(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                lines.push(String::from_utf8_lossy(&self.partial).trim_end().to_owned());
                self.partial.clear();
            }
        }
        if self.partial.len() > MAX_LINE {
            self.partial.clear();
        }
    }

    /// Opens the file that has the path now. Returns whether it is another one.
    fn open_rotated(&mut self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        let id = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
        if self.file.as_ref().is_some_and(|known| id(known) == id(&file)) {
            return false;
        }
        (self.file, self.offset) = (Some(file), 0);
        self.partial.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_are_read_once_when_they_are_whole_and_from_the_new_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let add = |text: &str| {
            let mut file = File::options().append(true).create(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let mut early = AuditTail::from_end(path.clone());
        assert!(early.lines().is_empty());
        add("one\nhal");
        let mut late = AuditTail::from_end(path.clone());
        assert_eq!(early.lines(), ["one"]);
        add("f\n");
        assert_eq!((early.lines(), late.lines()), (vec!["half".to_owned()], vec!["f".to_owned()]));
        add("three\n");
        std::fs::rename(&path, dir.path().join("audit.jsonl.1")).unwrap();
        add("four\n");
        assert_eq!(early.lines(), ["three", "four"]);
        assert!(early.lines().is_empty());
    }

    #[test]
    fn half_a_line_that_is_truncated_is_forgotten_and_one_read_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::write(&path, "").unwrap();
        let mut tail = AuditTail::from_end(path.clone());
        std::fs::write(&path, "one\n{\"torn").unwrap();
        assert_eq!(tail.lines(), ["one"]);
        File::options().write(true).open(&path).unwrap().set_len(4).unwrap();
        assert!(tail.lines().is_empty());
        std::fs::write(&path, format!("one\n{}", "long line\n".repeat(40_000))).unwrap();
        let first = tail.lines().len();
        assert!(first > 10_000 && first * 10 <= MAX_READ, "{first}");
        assert_eq!(first + tail.lines().len(), 40_000);
    }
}
