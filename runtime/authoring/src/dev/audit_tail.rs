//! The lines that are added to the audit, as they come. The file is written by another process, which may begin it anew
//! or take half a line away at any time.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

/// What is read at one look; the rest is for the next.
const MOST: usize = 256 << 10;

/// Longest line that is waited for; the audit's are far shorter.
const LONGEST: usize = 256 << 10;

/// Reads on where it stopped.
pub(super) struct AuditTail {
    path: PathBuf,
    file: Option<File>,
    at: u64,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl AuditTail {
    /// From the present end of the file; from the beginning of one that is not there yet.
    pub(super) fn from_end(path: PathBuf) -> Self {
        let file = File::open(&path).ok();
        let length = file.as_ref().and_then(|file| file.metadata().ok()).map(|about| about.len());
        Self { path, file, at: length.unwrap_or_default(), partial: Vec::new() }
    }

    /// The lines that were added since.
    pub(super) fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut room = MOST;
        room -= self.read(room, &mut lines);
        if room > 0 && self.begins_anew() {
            self.read(room, &mut lines);
        }
        lines
    }

    /// Reads at most `room` bytes; how many there were.
    fn read(&mut self, room: usize, lines: &mut Vec<String>) -> usize {
        let Some(file) = &self.file else { return 0 };
        let length = file.metadata().map(|about| about.len()).unwrap_or_default();
        if length < self.at {
            // What is gone was half a line, and its beginning with it.
            self.at = length;
            self.partial.clear();
        }
        let wanted = usize::try_from(length - self.at).unwrap_or(usize::MAX).min(room);
        let mut bytes = vec![0; wanted];
        let read = file.read_at(&mut bytes, self.at).unwrap_or_default();
        self.at += read as u64;
        self.cut(bytes.get(..read).unwrap_or_default(), lines);
        read
    }

    fn cut(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                lines.push(String::from_utf8_lossy(&self.partial).trim_end().to_owned());
                self.partial.clear();
            }
        }
        if self.partial.len() > LONGEST {
            self.partial.clear();
        }
    }

    /// Goes on with the file that has the name now, when it is another one.
    fn begins_anew(&mut self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        let id = |file: &File| file.metadata().map(|about| (about.dev(), about.ino())).ok();
        if self.file.as_ref().is_some_and(|known| id(known) == id(&file)) {
            return false;
        }
        (self.file, self.at) = (Some(file), 0);
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
    fn half_a_line_that_is_taken_away_is_forgotten_and_a_look_is_bounded() {
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
        assert!(first > 10_000 && first * 10 <= MOST, "{first}");
        assert_eq!(first + tail.lines().len(), 40_000);
    }
}
