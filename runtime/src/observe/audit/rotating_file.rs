//! A file to which whole lines are appended, and which is rotated when it reaches its maximum length.
//!
//! Editors start one server each, so several servers may share the file: every write and every rotation happens under
//! the file's lock, and a write is one system call that appends. A server may be killed in the middle of a write, so
//! every write first truncates a partial line.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::queue::LineSink;

/// How long to wait for the lock. A server holds the lock only for one write or one rotation.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause between two attempts to lock the file.
const LOCK_POLL: Duration = Duration::from_millis(5);

/// If rotating fails, the file may grow to this many times its maximum length.
const OVERLONG: u64 = 4;

/// The current file.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    file: File,
    max_bytes: u64,
    rotated_files: u32,
    /// The last rotation failed, and the log has said so.
    overlong: bool,
}

impl RotatingFile {
    /// Opens or makes a file, readable by its owner only, and truncates a partial line.
    pub(super) fn open(path: PathBuf, max_bytes: u64, rotated_files: u32) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = append_to(&path)?;
        let mut log = Self { path, file, max_bytes, rotated_files, overlong: false };
        match log.locked(Self::truncate_partial_line) {
            // Another process that holds the lock may be stopped. Every write truncates a partial line anyway.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(log),
            truncated => truncated.map(|()| log),
        }
    }

    /// Rotates the file if `lines` more bytes would exceed its maximum length. If rotating fails, the file grows up to
    /// [`OVERLONG`] times that length, because a file that is too long is better than lost lines.
    fn rotate_if_full(&mut self, lines: u64) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length == 0 || length + lines <= self.max_bytes {
            return Ok(());
        }
        let rotated = self.rotate();
        if let (Err(error), false) = (&rotated, self.overlong) {
            tracing::warn!(%error, "the audit file cannot be rotated; it grows");
        }
        self.overlong = rotated.is_err();
        if length + lines <= self.max_bytes.saturating_mul(OVERLONG) { Ok(()) } else { rotated }
    }

    /// Calls `act` while holding the lock of the file that is at the path now, which another server may have replaced.
    fn locked<T>(&mut self, act: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let result = self.lock_current().and_then(|()| act(self));
        // If unlocking fails, the result of `act` still stands; closing the file releases the lock too.
        let _ = self.file.unlock();
        result
    }

    fn lock_current(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        lock(&self.file, deadline)?;
        // Another server may have rotated the file while this one waited.
        while !self.is_current() {
            let file = append_to(&self.path)?;
            lock(&file, deadline)?;
            self.file = file;
        }
        Ok(())
    }

    fn is_current(&self) -> bool {
        let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let named = std::fs::metadata(&self.path).map(id);
        matches!((named, self.file.metadata().map(id)), (Ok(named), Ok(open)) if named == open)
    }

    /// Removes a partial line that an interrupted write left.
    fn truncate_partial_line(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut last = [b'\n'];
        if let Some(at) = length.checked_sub(1) {
            self.file.read_exact_at(&mut last, at)?;
        }
        if last == [b'\n'] { Ok(()) } else { self.file.set_len(end_of_last_line(&self.file, length)?) }
    }

    /// Renames the file `x` to `x.1`, `x.1` to `x.2` and so on, and creates a new `x`.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.rotated_files).rev() {
            let (from, to) = (numbered(&self.path, number), numbered(&self.path, number + 1));
            match std::fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, numbered(&self.path, 1))?;
        let file = append_to(&self.path)?;
        lock(&file, Instant::now() + LOCK_TIMEOUT)?;
        self.file = file;
        Ok(())
    }
}

impl LineSink for RotatingFile {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.locked(|log| {
            log.truncate_partial_line()?;
            log.rotate_if_full(lines.len() as u64)?;
            let before = log.file.metadata()?.len();
            log.file.write_all(lines).inspect_err(|_| {
                // A full disk may have stored a part of the lines. A partial line is worse than none.
                let _ = log.file.set_len(before);
            })
        })
    }
}

/// Locks a file, or fails when the deadline has passed.
fn lock(file: &File, deadline: Instant) -> io::Result<()> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps the file locked"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
        }
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The offset after the last complete line.
fn end_of_last_line(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = block.get_mut(..usize::try_from(end - start).unwrap_or_default()).unwrap_or_default();
        file.read_exact_at(part, start)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for (left, truncated) in [("", ""), ("one\n", "one\n"), ("one\ntw", "one\n"), ("tw", "")] {
            std::fs::write(&path, left).unwrap();
            RotatingFile::open(path.clone(), 100, 1).unwrap().append(b"new\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{truncated}new\n"));
        }
        std::fs::write(&path, format!("one\n{}", "x".repeat(200_000))).unwrap();
        RotatingFile::open(path.clone(), 1 << 20, 1).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    }

    #[test]
    fn a_long_file_begins_anew_for_everyone_who_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut first = RotatingFile::open(path.clone(), 10, 2).unwrap();
        let mut second = RotatingFile::open(path.clone(), 10, 2).unwrap();
        for line in ["1234567\n", "2234567\n", "3234567\n", "4234567\n"] {
            first.append(line.as_bytes()).unwrap();
        }
        second.append(b"x\n").unwrap();
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(path.clone()), "4234567\nx\n");
        assert_eq!(
            (read(numbered(&path, 1)), read(numbered(&path, 2))),
            ("3234567\n".into(), "2234567\n".into())
        );
        assert!(!numbered(&path, 3).exists());
    }

    #[test]
    fn what_another_server_left_half_written_is_mended_by_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut log = RotatingFile::open(path.clone(), 100, 1).unwrap();
        log.append(b"one\n").unwrap();
        append_to(&path).unwrap().write_all(b"tw").unwrap();
        log.append(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\nthree\n");
    }

    #[test]
    fn a_lock_that_is_kept_is_not_waited_for_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut log = RotatingFile::open(path.clone(), 100, 1).unwrap();
        let other = append_to(&path).unwrap();
        other.lock().unwrap();
        let begun = Instant::now();
        assert_eq!(log.append(b"one\n").unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < 3 * LOCK_TIMEOUT);
        other.unlock().unwrap();
        log.append(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    }

    #[test]
    fn a_file_that_cannot_begin_anew_grows_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::create_dir_all(numbered(&path, 1).join("in the way")).unwrap();
        let mut log = RotatingFile::open(path.clone(), 10, 1).unwrap();
        for _ in 0..5 {
            log.append(b"1234567\n").unwrap();
        }
        assert!(log.append(b"1234567\n").is_err(), "not for ever");
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), 40);
        std::fs::remove_dir_all(numbered(&path, 1)).unwrap();
        log.append(b"1234567\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), 8);
    }
}
