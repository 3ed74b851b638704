//! What a file looks like from outside: enough to see that it is another one, or has changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Which file lies under a name, and in which state. Two that are equal have the same bytes, unless someone sets clocks
/// back to deceive; what is served is decided by the digest of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    file: (u64, u64),
    length: u64,
    /// When its bytes last changed, and when anything about it did: seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of what lies at `path`; a link is followed, as it is when the file is read. `None` when nothing is there.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).or_else(|_| std::fs::symlink_metadata(path));
        about.ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for Stamp {
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
        assert_eq!(Stamp::of(&path), None);
        std::fs::write(&path, "one").unwrap();
        let first = Stamp::of(&path);
        assert_eq!(first, Stamp::of(&path));
        std::fs::write(&path, "four").unwrap();
        let second = Stamp::of(&path);
        assert_ne!(first, second);
        std::fs::write(dir.path().join("b"), "four").unwrap();
        std::fs::rename(dir.path().join("b"), &path).unwrap();
        assert_ne!(second, Stamp::of(&path), "another file of the same length");
    }
}
