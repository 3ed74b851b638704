//! Reads files of a folder into which other users or programs may write.
//!
//! A file is opened once, without waiting and, in a folder that is served, without following a link: with a link,
//! anyone who can write into the folder could have the server open files elsewhere, and devices, for which opening
//! alone may do something. Only a regular file is read, and only to a bound. Every layer that reads such a file uses
//! this module, and decides itself what an error means.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// What happens to a link at the end of a path. Links further up are always followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symlinks {
    /// For a path that a user wrote.
    Followed,
    /// For a path that was read from a folder.
    Rejected,
}

/// Why a file was not read. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An error of the system.
    #[error("cannot be read; check that it may be")]
    Unreadable(#[source] std::io::Error),
    /// A link, where none is followed.
    #[error("is a symbolic link; copy the file itself into the folder")]
    Link,
    /// A directory, device, socket or pipe.
    #[error("is not a regular file; remove it, or put a file in its place")]
    NotAFile,
    /// More bytes than the bound.
    #[error("is larger than {0} bytes; put the right file in its place")]
    TooLarge(u64),
}

/// Opens a regular file. Blocks.
pub(crate) fn open(path: &Path, links: Symlinks) -> Result<(File, Metadata), OpenError> {
    // A pipe would otherwise block the open for ever, and a terminal become the server's own.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, links == Symlinks::Rejected);
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match path.symlink_metadata() {
        // Systems report different errors for a link, and the same ones for a loop further up, so the path is checked.
        Ok(metadata) if links == Symlinks::Rejected && metadata.is_symlink() => OpenError::Link,
        _ => OpenError::Unreadable(error),
    })?;
    let metadata = file.metadata().map_err(OpenError::Unreadable)?;
    if !metadata.is_file() {
        return Err(OpenError::NotAFile);
    }
    Ok((file, metadata))
}

/// Reads a regular file of at most `max` bytes. Blocks.
pub(crate) fn read(path: &Path, max: u64, links: Symlinks) -> Result<Vec<u8>, OpenError> {
    let (file, metadata) = open(path, links)?;
    if metadata.len() > max {
        return Err(OpenError::TooLarge(max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(OpenError::Unreadable)?;
    if bytes.len() as u64 > max {
        return Err(OpenError::TooLarge(max));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_for_people_only() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "abc").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink(".", at("folder")).unwrap();
        assert_eq!(read(&at("link"), 3, Symlinks::Followed).unwrap(), b"abc");
        assert!(matches!(read(&at("zero"), 3, Symlinks::Followed), Err(OpenError::NotAFile)));
        assert!(matches!(read(&at("loop"), 3, Symlinks::Followed), Err(OpenError::Unreadable(_))));
        for name in ["link", "loop", "dangling", "zero", "folder"] {
            let rejected = read(&at(name), 3, Symlinks::Rejected);
            assert!(matches!(rejected, Err(OpenError::Link)), "{name}: {rejected:?}");
        }
        // The folder itself may be reached through links.
        assert_eq!(read(&at("folder/file"), 3, Symlinks::Rejected).unwrap(), b"abc");
        assert!(matches!(read(&at("none"), 3, Symlinks::Rejected), Err(OpenError::Unreadable(_))));
    }

    #[test]
    fn only_regular_files_are_read_and_only_to_their_bound() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(dir.path().join("file"), "abcd").unwrap();
        for irregular in [pipe.as_path(), dir.path(), Path::new("/dev/zero")] {
            let rejected = read(irregular, 3, Symlinks::Rejected);
            assert!(matches!(rejected, Err(OpenError::NotAFile)), "{}: {rejected:?}", irregular.display());
        }
        assert!(matches!(read(&dir.path().join("file"), 3, Symlinks::Rejected), Err(OpenError::TooLarge(3))));
        assert_eq!(read(&dir.path().join("file"), 4, Symlinks::Rejected).unwrap(), b"abcd");
    }
}
