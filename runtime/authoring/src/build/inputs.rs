//! The digest of all that a tool makes a component of: equal digests mean that it would be given the same.
//!
//! Files count by their names below a folder and by their contents, and never by the folder's own path or by times: the
//! same project in two folders has one digest.

use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Maximum number of files and folders. With more, there is no digest, and every build runs the tool.
const MAX_ENTRIES: usize = 200_000;

/// Maximum bytes of all files whose contents count.
const MAX_BYTES: u64 = 1 << 30;

/// A digest in the making.
#[derive(Default)]
pub(super) struct Inputs {
    hash: Sha256,
    entries: usize,
    bytes: u64,
}

impl Inputs {
    /// With its length, so that no two sequences of values are the same bytes.
    pub(super) fn value(&mut self, bytes: &[u8]) {
        self.hash.update(bytes.len().to_le_bytes());
        self.hash.update(bytes);
    }

    /// The content of a file.
    pub(super) fn file(&mut self, file: &Path) -> io::Result<()> {
        let metadata = std::fs::metadata(file)?;
        // Reading anything but a regular file may block for ever.
        if !metadata.is_file() {
            self.value(b"no file");
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(metadata.len());
        if self.bytes > MAX_BYTES {
            return Err(too_large());
        }
        self.value(&std::fs::read(file)?);
        Ok(())
    }

    /// The names and contents of all files below a folder, except those for which `is_skipped` holds.
    pub(super) fn folder(&mut self, folder: &Path, is_skipped: &impl Fn(&Path) -> bool) -> io::Result<()> {
        self.below(folder, is_skipped, &mut Self::file)
    }

    /// The names of all files below a folder, and of each what `each` adds. Links to folders count as the paths that
    /// they have, since they may lead in circles.
    pub(super) fn below(
        &mut self,
        folder: &Path,
        is_skipped: &impl Fn(&Path) -> bool,
        each: &mut impl FnMut(&mut Self, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let entries = std::fs::read_dir(folder)?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
        paths.retain(|path| !is_skipped(path));
        // A file system lists a folder in any order.
        paths.sort();
        self.entries = self.entries.saturating_add(paths.len());
        if self.entries > MAX_ENTRIES {
            return Err(too_large());
        }
        self.value(&paths.len().to_le_bytes());
        for path in paths {
            self.value(path.file_name().unwrap_or_default().as_bytes());
            let kind = std::fs::symlink_metadata(&path)?.file_type();
            if kind.is_dir() {
                self.value(b"folder");
                self.below(&path, is_skipped, each)?;
            } else if kind.is_symlink() && !path.is_file() {
                self.value(b"link");
                self.value(std::fs::read_link(&path)?.as_os_str().as_bytes());
            } else {
                self.value(b"file");
                each(self, &path)?;
            }
        }
        Ok(())
    }

    /// The digest in hexadecimal digits.
    pub(super) fn digest(self) -> String {
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn too_large() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "the project is too large for a digest")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(add: impl Fn(&mut Inputs)) -> String {
        let mut inputs = Inputs::default();
        add(&mut inputs);
        inputs.digest()
    }

    #[test]
    fn the_same_files_have_one_digest_in_every_folder() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        for (folder, order) in folders.iter().zip([["a.py", "b.py"], ["b.py", "a.py"]]) {
            for file in order {
                std::fs::write(folder.path().join(file), file).unwrap();
            }
            std::fs::create_dir(folder.path().join("x")).unwrap();
        }
        let of = |at: usize| digest(|inputs| inputs.folder(folders[at].path(), &|_| false).unwrap());
        assert_eq!(of(0), of(1));
        let before = of(0);
        std::fs::write(folders[0].path().join("x/c.py"), "").unwrap();
        assert_ne!(of(0), before, "a new file");
        let skipped = digest(|inputs| {
            inputs.folder(folders[0].path(), &|path| path.ends_with("c.py")).unwrap();
        });
        assert_eq!(skipped, before);
        std::fs::write(folders[1].path().join("a.py"), "b.py").unwrap();
        assert_ne!(of(1), before, "another content of the same length");
        let before = of(0);
        std::os::unix::fs::symlink(folders[0].path(), folders[0].path().join("x/d")).unwrap();
        assert_ne!(of(0), before, "a link to a folder, which is not followed");
    }

    #[test]
    fn values_have_bounds() {
        let values = |values: &[&[u8]]| digest(|inputs| values.iter().for_each(|value| inputs.value(value)));
        assert_ne!(values(&[b"a", b"bc"]), values(&[b"ab", b"c"]));
        assert_ne!(values(&[b"a"]), values(&[b"a", b""]));
    }
}
