//! What a file looks like from outside: enough to see that it is another one, or has changed.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Which file lies under a name, and in which state. Two that are equal have the same bytes, unless someone sets clocks
/// back to deceive; what is served is decided by the digest of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    file: (u64, u64),
    length: u64,
    /// When its bytes last changed, and when anything about it did: seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStat {
    /// Of what lies at `path`; a link is itself. `None` when nothing is there.
    ///
    /// # Errors
    /// When that cannot be told: a file that cannot be looked at is not gone.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::symlink_metadata(path) {
            Ok(about) => Ok(Some(Self::from(&about))),
            Err(error) => match error.kind() {
                // A name that is too long for the system is nobody's either.
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Bytes in it.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.length
    }
}

impl From<&Metadata> for FileStat {
    fn from(about: &Metadata) -> Self {
        Self {
            file: (about.dev(), about.ino()),
            length: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
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
