//! A file that is read whole or not at all, and replaced whole or not at all.
//!
//! Whatever happens to a writer, a crash or a full disk, what lies under the name is what lay there before, or all that was
//! to be written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What lies under a name.
pub(super) enum Read {
    Missing,
    /// A directory, device, socket or pipe.
    NotAFile,
    TooLong,
    Bytes(Vec<u8>),
}

/// Reads a file of at most this many bytes.
pub(super) fn read(file: &Path, most: u64) -> io::Result<Read> {
    // A pipe would otherwise block the open for ever.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = match OpenOptions::new().read(true).custom_flags(flags).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Read::Missing),
        opened => opened?,
    };
    if !opened.metadata()?.is_file() {
        return Ok(Read::NotAFile);
    }
    let mut bytes = Vec::new();
    opened.take(most + 1).read_to_end(&mut bytes)?;
    Ok(if bytes.len() as u64 > most { Read::TooLong } else { Read::Bytes(bytes) })
}

/// Writes beside the file, then in its place. A link stays one.
pub(super) fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = folder.join(format!(".{name}.{:016x}", u64::from_le_bytes(random)));
    let mut out = File::create_new(&unfinished)?;
    let written = same_mode(file, &out)
        .and_then(|()| out.write_all(bytes))
        .and_then(|()| out.sync_all())
        .and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    File::open(folder)?.sync_all()
}

/// Who could read and write the old one can do so with the new one.
fn same_mode(file: &Path, new: &File) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(old) => new.set_permissions(old.permissions()),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lock");
        replace(&file, b"one").unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        // A folder cannot be replaced by a file.
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("inner")).unwrap();
        assert!(replace(&taken, b"x").is_err());
        assert!(replace(&dir.path().join("none/lock"), b"x").is_err());
        assert_eq!(dir.path().read_dir().unwrap().count(), 2);
    }

    #[test]
    fn a_link_and_a_mode_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("target", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn only_a_file_that_is_short_enough_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lock");
        assert!(matches!(read(&file, 3), Ok(Read::Missing)));
        fs::write(&file, "abc").unwrap();
        assert!(matches!(read(&file, 3), Ok(Read::Bytes(bytes)) if bytes == b"abc"));
        assert!(matches!(read(&file, 2), Ok(Read::TooLong)));
        assert!(matches!(read(dir.path(), 3), Ok(Read::NotAFile)));
        assert!(matches!(read(Path::new("/dev/zero"), 3), Ok(Read::NotAFile)));
    }
}
