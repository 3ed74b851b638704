//! What a file looks like from outside: enough to see that it is another one, or has changed.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::config::beside;
use crate::plugin::signature_path;

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

/// A plugin's file with the files beside it that have a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sight {
    component: Stamp,
    settings: Option<Stamp>,
    signature: Option<Stamp>,
}

impl Stamp {
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
}

/// A file that decides about plugins, and what it leads to if it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Linked {
    named: Stamp,
    meant: Option<Stamp>,
}

impl Linked {
    /// Of what lies at `path`; `None` when nothing is there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(named) = Stamp::of(path)? else { return Ok(None) };
        let meant = std::fs::metadata(path).ok().as_ref().map(Stamp::from);
        Ok(Some(Self { named, meant }))
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

impl Sight {
    /// Of the plugin at `path`; `None` when it is not there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(component) = Stamp::of(path)? else { return Ok(None) };
        let (settings, signature) = (Stamp::of(&beside(path))?, Stamp::of(&signature_path(path))?);
        Ok(Some(Self { component, settings, signature }))
    }

    /// Of the component, bytes.
    pub(super) fn size(&self) -> u64 {
        self.component.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_file_shows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.wasm");
        assert_eq!(Stamp::of(&path).unwrap(), None);
        std::fs::write(&path, "one").unwrap();
        let first = Stamp::of(&path).unwrap();
        assert_eq!(first, Stamp::of(&path).unwrap());
        std::fs::write(&path, "four").unwrap();
        let second = Stamp::of(&path).unwrap();
        assert_ne!(first, second);
        std::fs::write(dir.path().join("b"), "four").unwrap();
        std::fs::rename(dir.path().join("b"), &path).unwrap();
        assert_ne!(second, Stamp::of(&path).unwrap(), "another file of the same length");
    }

    #[test]
    fn what_a_link_leads_to_counts_where_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("a", &link).unwrap();
        let (first, itself) = (Linked::of(&link).unwrap(), Stamp::of(&link).unwrap());
        std::fs::write(&file, "four").unwrap();
        assert_ne!(first, Linked::of(&link).unwrap());
        assert_eq!(itself, Stamp::of(&link).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert!(Linked::of(&link).unwrap().is_some_and(|linked| linked.meant.is_none()));
    }

    #[test]
    fn so_does_every_change_of_what_lies_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.wasm");
        std::fs::write(dir.path().join("a.toml"), "").unwrap();
        assert_eq!(Sight::of(&path).unwrap(), None);
        std::fs::write(&path, "one").unwrap();
        let first = Sight::of(&path).unwrap();
        std::fs::write(dir.path().join("a.toml"), "prefix = \"\"").unwrap();
        let second = Sight::of(&path).unwrap();
        assert_ne!(first, second);
        std::fs::write(dir.path().join("a.wasm.minisig"), "").unwrap();
        assert_ne!(second, Sight::of(&path).unwrap());
    }
}
