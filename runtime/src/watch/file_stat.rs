//! What a file looks like from outside: enough to see that it is another one, or has changed.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::config::sidecar_path;
use crate::plugin::signature_path;

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

/// A plugin's file with the files beside it that have a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PluginStat {
    wasm: FileStat,
    sidecar: Option<FileStat>,
    signature: Option<FileStat>,
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
}

/// A file that decides about plugins, and what it leads to if it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkStat {
    link: FileStat,
    target: Option<FileStat>,
}

impl LinkStat {
    /// Of what lies at `path`; `None` when nothing is there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(link) = FileStat::of(path)? else { return Ok(None) };
        let target = std::fs::metadata(path).ok().as_ref().map(FileStat::from);
        Ok(Some(Self { link, target }))
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

impl PluginStat {
    /// Of the plugin at `path`; `None` when it is not there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(wasm) = FileStat::of(path)? else { return Ok(None) };
        let (sidecar, signature) = (FileStat::of(&sidecar_path(path))?, FileStat::of(&signature_path(path))?);
        Ok(Some(Self { wasm, sidecar, signature }))
    }

    /// Of the component, bytes.
    pub(super) fn size(&self) -> u64 {
        self.wasm.length
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

    #[test]
    fn what_a_link_leads_to_counts_where_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("a", &link).unwrap();
        let (first, itself) = (LinkStat::of(&link).unwrap(), FileStat::of(&link).unwrap());
        std::fs::write(&file, "four").unwrap();
        assert_ne!(first, LinkStat::of(&link).unwrap());
        assert_eq!(itself, FileStat::of(&link).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert!(LinkStat::of(&link).unwrap().is_some_and(|linked| linked.target.is_none()));
    }

    #[test]
    fn so_does_every_change_of_what_lies_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.wasm");
        std::fs::write(dir.path().join("a.toml"), "").unwrap();
        assert_eq!(PluginStat::of(&path).unwrap(), None);
        std::fs::write(&path, "one").unwrap();
        let first = PluginStat::of(&path).unwrap();
        std::fs::write(dir.path().join("a.toml"), "prefix = \"\"").unwrap();
        let second = PluginStat::of(&path).unwrap();
        assert_ne!(first, second);
        std::fs::write(dir.path().join("a.wasm.minisig"), "").unwrap();
        assert_ne!(second, PluginStat::of(&path).unwrap());
    }
}
