//! Turns granted directories into preopens, read-only unless the grant says otherwise. What may be granted at all is
//! decided where grants are parsed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::config::DirGrant;

/// Begins a WASI context in which every granted directory is open.
///
/// # Errors
/// When a directory is gone since it was granted.
pub(in crate::capability) fn preopen(dirs: &[DirGrant]) -> wasmtime::Result<WasiCtxBuilder> {
    let mut wasi = WasiCtxBuilder::new();
    for dir in dirs {
        let perms = if dir.write.is_some() { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let pinned = PinnedDir::open(&dir.host)?;
        wasi.preopened_dir(pinned.path(), &dir.guest, perms)?;
    }
    Ok(wasi)
}

/// A directory that is open and lies at exactly the granted path. A guest that may write above that path could have
/// replaced the directory by renaming a link that leads elsewhere.
#[derive(Debug)]
pub(crate) struct PinnedDir {
    dir: File,
    path: PathBuf,
}

impl PinnedDir {
    /// Opens the directory at `host`, a path without links.
    ///
    /// # Errors
    /// When it is gone, or a link leads elsewhere.
    pub(crate) fn open(host: &Path) -> io::Result<Self> {
        let dir = File::open(host)?;
        match path_of(&dir) {
            Some(real) if real == host => Ok(Self { path: by_descriptor(&dir), dir }),
            Some(_) => Err(io::Error::other("a granted directory was replaced by a link")),
            // The system does not say where an open file lies, so only the path is known.
            None => Ok(Self { path: host.to_owned(), dir }),
        }
    }

    /// The directory, open for reading.
    pub(super) fn dir(&self) -> &File {
        &self.dir
    }

    /// A path that leads to this directory, whatever becomes of its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(target_os = "linux")]
fn by_descriptor(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    Path::new("/proc/self/fd").join(file.as_raw_fd().to_string())
}

#[cfg(not(target_os = "linux"))]
fn by_descriptor(_: &File) -> PathBuf {
    PathBuf::new()
}

/// Where an open file lies, links resolved; `None` where the system does not say.
pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    let path = std::fs::read_link(by_descriptor(file)).ok()?;
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("granted/inner")).unwrap();
        let granted = root.join("granted/inner");
        assert!(std::fs::read_dir(PinnedDir::open(&granted).unwrap().path()).is_ok());
        std::fs::rename(&granted, root.join("granted/old")).unwrap();
        assert!(PinnedDir::open(&granted).is_err());
        std::os::unix::fs::symlink("/etc", &granted).unwrap();
        assert!(PinnedDir::open(&granted).unwrap_err().to_string().contains("link"));
    }
}
