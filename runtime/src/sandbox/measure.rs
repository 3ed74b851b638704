//! Measures what lies below a directory, within bounds: a directory that holds more files than may lie there is not walked
//! to its end, and no link is followed.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Sizes count in these steps, as on most disks, so that many small files are not free.
pub(super) const STEP: u64 = 4_096;

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) bytes: u64,
    /// Files, directories and links.
    pub(super) files: u64,
    /// Whether all of it was seen.
    pub(super) complete: bool,
}

impl Measured {
    /// Nothing more fits in.
    pub(super) const FULL: Self = Self { bytes: u64::MAX, files: u64::MAX, complete: false };

    /// The larger of both.
    pub(super) fn at_least(self, other: Self) -> Self {
        let (bytes, files) = (self.bytes.max(other.bytes), self.files.max(other.files));
        Self { bytes, files, complete: self.complete }
    }

    /// Counts a file that is open, if no name leads to it any more.
    pub(super) fn and_open(&mut self, file: &File) {
        match file.metadata() {
            Ok(found) if found.nlink() == 0 => self.add(&found),
            Ok(_) => {}
            Err(_) => self.complete = false,
        }
    }

    fn add(&mut self, found: &Metadata) {
        self.files += 1;
        let size = if found.is_file() { rounded(found.len()) } else { STEP };
        self.bytes = self.bytes.saturating_add(size);
    }
}

/// A size as it counts.
pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(STEP).unwrap_or(u64::MAX)
}

/// Looks at everything below `root`, at hardly more than `most` files. Blocks.
pub(super) fn measure(root: &Path, most: u64) -> Measured {
    let mut found = Measured { complete: true, ..Measured::default() };
    let mut linked = HashSet::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            // Too deep to be named, or not ours to read: nobody can say what is in it.
            found.complete &= matches!(folder.try_exists(), Ok(false));
            continue;
        };
        for entry in entries {
            if found.files > most {
                return Measured { bytes: u64::MAX, complete: true, ..found };
            }
            let Ok(entry) = entry else {
                found.complete = false;
                break;
            };
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                pending.push(entry.path());
            } else if about.nlink() > 1 && !linked.insert((about.dev(), about.ino())) {
                // Its bytes are counted under another name.
                found.files += 1;
                continue;
            }
            found.add(&about);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_share_its_bytes_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a"), vec![1; 5_000]).unwrap();
        std::fs::hard_link(inner.join("a"), inner.join("b")).unwrap();
        std::os::unix::fs::symlink("/usr", inner.join("c")).unwrap();
        let found = measure(dir.path(), 100);
        assert_eq!(found, Measured { bytes: 4 * STEP, files: 4, complete: true });
    }

    #[test]
    fn a_crowded_directory_is_full_and_not_walked_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..100 {
            std::fs::write(dir.path().join(n.to_string()), "").unwrap();
        }
        let found = measure(dir.path(), 10);
        assert!(found.files <= 12 && found.bytes == u64::MAX, "{found:?}");
    }
}
