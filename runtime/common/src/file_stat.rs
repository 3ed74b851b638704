//! The stat of a file, which shows that the file was replaced or has changed.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The identity and state of a file. Two equal stats mean the same bytes, unless someone sets clocks back to deceive;
/// what is served is decided by the digest of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    file: (u64, u64),
    length: u64,
    /// When the bytes last changed, and when the inode last changed: seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStat {
    /// The stat of the file at `path`, without following a link; `None` if there is no file.
    ///
    /// # Errors
    /// When the file cannot be examined, which does not mean that it is gone.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) => match error.kind() {
                // No file can have a name that is too long for the system.
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.length
    }
}

impl From<&Metadata> for FileStat {
    fn from(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_file_shows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.wasm");
        assert_eq!(FileStat::of(&path).unwrap(), None);
        std::fs::write(&path, "one").unwrap();
        let first = FileStat::of(&path).unwrap();
        assert_eq!(first, FileStat::of(&path).unwrap());
        std::fs::write(&path, "four").unwrap();
        let second = FileStat::of(&path).unwrap();
        assert_ne!(first, second);
        std::fs::write(dir.path().join("b"), "four").unwrap();
        std::fs::rename(dir.path().join("b"), &path).unwrap();
        assert_ne!(second, FileStat::of(&path).unwrap(), "another file of the same length");
    }
}
