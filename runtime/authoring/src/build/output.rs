//! The output file of a build. It is replaced atomically, so that a server that watches the folder never reads half of
//! it, and not written if it would be the same.

use std::path::{Path, PathBuf};

use super::error::BuildError;
use crate::atomic_write::atomic_write;

/// The output file after a build.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenFile {
    pub(super) file: PathBuf,
    /// Whether its bytes have changed.
    pub(super) changed: bool,
}

/// Checks before a build that the path can be a regular file. Writing would replace a device, and reading a pipe would
/// block.
pub(super) fn check(file: &Path) -> Result<(), BuildError> {
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) || file.file_name().is_none() {
        return Err(BuildError::OutputIsNoFile(file.to_owned()));
    }
    Ok(())
}

/// The path of an output file as a walk through its folder finds it. `None` if the folder is not there.
pub(super) fn real_path(file: &Path) -> Option<PathBuf> {
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    Some(folder.canonicalize().ok()?.join(file.file_name()?))
}

pub(super) fn write(file: PathBuf, bytes: &[u8]) -> Result<WrittenFile, BuildError> {
    check(&file)?;
    if std::fs::read(&file).is_ok_and(|before| before == bytes) {
        return Ok(WrittenFile { file, changed: false });
    }
    match atomic_write(&file, bytes) {
        Ok(()) => Ok(WrittenFile { file, changed: true }),
        Err(error) => Err(BuildError::Unwritable(file, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_when_it_would_be_another_and_nothing_lies_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out/x.wasm");
        assert!(write(file.clone(), b"1").unwrap().changed);
        assert!(!write(file.clone(), b"1").unwrap().changed);
        assert!(write(file.clone(), b"2").unwrap().changed);
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        let folder = write(dir.path().join("out"), b"1").unwrap_err();
        assert!(folder.is_usage() && folder.to_string().contains("is no file"), "{folder}");
        assert!(check(Path::new("/dev/null")).is_err_and(|device| device.is_usage()));
        let below = write(file.join("y.wasm"), b"1").unwrap_err();
        assert!(below.to_string().contains("cannot write"), "{below}");
    }

    #[test]
    fn builds_of_one_file_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.wasm");
        let builds = [b'1', b'2', b'3', b'4'].map(|byte| {
            let file = file.clone();
            std::thread::spawn(move || {
                (0..50).for_each(|_| drop(write(file.clone(), &[byte; 70_000]).unwrap()))
            })
        });
        builds.into_iter().for_each(|build| build.join().unwrap());
        let made = std::fs::read(&file).unwrap();
        assert!(made.len() == 70_000 && made.iter().all(|byte| Some(byte) == made.first()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let usual = dir.path().join("usual");
        std::fs::write(&usual, "").unwrap();
        let mode = |file| std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode(file), mode(usual), "others may read it, as the umask says");
    }
}
