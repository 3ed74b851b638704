//! The file that a build is for. It is written beside and renamed, so that a server that follows the folder never reads half
//! of it, and left alone when it would be the same.

use std::io;
use std::path::{Path, PathBuf};

use super::error::BuildError;

/// What was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) file: PathBuf,
    /// Whether it is another than before.
    pub(super) changed: bool,
}

/// Sees that a component could be there, before anything is built for it.
pub(super) fn check(file: &Path) -> Result<(), BuildError> {
    if file.is_dir() || file.file_name().is_none() {
        return Err(BuildError::OutputIsFolder(file.to_owned()));
    }
    Ok(())
}

pub(super) fn write(file: PathBuf, bytes: &[u8]) -> Result<Output, BuildError> {
    check(&file)?;
    if std::fs::read(&file).is_ok_and(|before| before == bytes) {
        return Ok(Output { file, changed: false });
    }
    match replace(&file, bytes) {
        Ok(()) => Ok(Output { file, changed: true }),
        Err(error) => Err(BuildError::Unwritable(file, error)),
    }
}

fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = std::ffi::OsString::from(".");
    beside.push(file.file_name().unwrap_or_default());
    beside.push(".part");
    let beside = file.with_file_name(beside);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, file));
    if written.is_err() {
        // Half a file is of no use to anybody.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
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
        assert!(folder.is_usage() && folder.to_string().contains("is a folder"), "{folder}");
        let below = write(file.join("y.wasm"), b"1").unwrap_err();
        assert!(below.to_string().contains("cannot write"), "{below}");
    }
}
