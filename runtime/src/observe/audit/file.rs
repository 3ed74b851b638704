//! A file that only grows by whole lines, and begins anew when it is long.
//!
//! Several servers may share it, since editors start one each: every write and every change of files happens under the
//! file's lock, in one system call at the end of the file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The file that is written now.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    most: u64,
    kept: u32,
}

impl LogFile {
    /// Opens or makes a file, readable by its owner only, and ends a line that was cut off.
    pub(super) fn open(path: PathBuf, most: u64, kept: u32) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = append_to(&path)?;
        let mut log = Self { path, file, most, kept };
        log.locked(Self::mend)?;
        Ok(log)
    }

    /// Writes whole lines.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.locked(|log| {
            let length = log.file.metadata()?.len();
            if length > 0 && length + lines.len() as u64 > log.most {
                log.begin_anew()?;
            }
            let before = log.file.metadata()?.len();
            log.file.write_all(lines).inspect_err(|_| {
                // A full disk may have taken a part; half a line is worse than none.
                let _ = log.file.set_len(before);
            })
        })
    }

    /// Acts with the lock of the file that has the name now.
    fn locked<T>(&mut self, act: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        self.file.lock()?;
        // Another server may have begun a new one while this one waited.
        while !self.is_current() {
            let file = append_to(&self.path)?;
            file.lock()?;
            self.file = file;
        }
        let done = act(self);
        self.file.unlock()?;
        done
    }

    fn is_current(&self) -> bool {
        let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let named = std::fs::metadata(&self.path).map(id);
        matches!((named, self.file.metadata().map(id)), (Ok(named), Ok(open)) if named == open)
    }

    /// Takes away what a write that was cut off left behind.
    fn mend(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut reader = File::open(&self.path)?;
        let whole = end_of_last_line(&mut reader, length)?;
        if whole < length { self.file.set_len(whole) } else { Ok(()) }
    }

    /// Renames `x` to `x.1`, `x.1` to `x.2` and so on, and makes a new `x`.
    fn begin_anew(&mut self) -> io::Result<()> {
        for number in (1..self.kept).rev() {
            let (from, to) = (numbered(&self.path, number), numbered(&self.path, number + 1));
            match std::fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, numbered(&self.path, 1))?;
        let file = append_to(&self.path)?;
        file.lock()?;
        self.file = file;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Where the last line that has an end has it.
fn end_of_last_line(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = block.get_mut(..usize::try_from(end - start).unwrap_or_default()).unwrap_or_default();
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
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
        for (left, mended) in [("", ""), ("one\n", "one\n"), ("one\ntw", "one\n"), ("tw", "")] {
            std::fs::write(&path, left).unwrap();
            LogFile::open(path.clone(), 100, 1).unwrap().append(b"new\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{mended}new\n"));
        }
        std::fs::write(&path, format!("one\n{}", "x".repeat(200_000))).unwrap();
        LogFile::open(path.clone(), 1 << 20, 1).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    }

    #[test]
    fn a_long_file_begins_anew_for_everyone_who_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut first = LogFile::open(path.clone(), 10, 2).unwrap();
        let mut second = LogFile::open(path.clone(), 10, 2).unwrap();
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
}
