//! The folder of the status sockets. Only this user can open it, the server keeps it open, and sockets in it have short
//! paths.
//!
//! A socket address holds about a hundred bytes, but a path can be longer. On Linux, the files of an open folder also
//! have a short path through `/proc`.

use std::fs::DirBuilder;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, fchmod, fstat, statat, unlinkat};
use rustix::process::geteuid;
use tokio::net::UnixStream;

use super::StatusSocketError;

/// The folder's name in the state folder.
const NAME: &str = "run";

/// The suffix of sockets whose servers listen.
const SUFFIX: &str = ".sock";

/// The suffix of sockets whose servers do not listen yet.
pub(super) const UNFINISHED: &str = ".new";

/// An unfinished socket of this age was left behind by a killed server: a running server needs that name only until it
/// listens.
const ABANDONED: Duration = Duration::from_secs(60);

/// Maximum length of a socket address that every system accepts, in bytes.
const ADDRESS: usize = 100;

/// Maximum number of sockets that are read from the folder: one for each running server, and one for each server killed
/// since the last cleanup.
const MAX_SOCKETS: usize = 1 << 16;

/// The open folder.
#[derive(Debug)]
pub(super) struct SocketDir {
    pub(super) path: PathBuf,
    pub(super) fd: OwnedFd,
}

impl SocketDir {
    /// Opens the folder in this state folder, and creates it if it is missing.
    pub(super) fn make(state: &Path) -> Result<Self, StatusSocketError> {
        let path = state.join(NAME);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| StatusSocketError::Folder(path.clone(), error))?;
        let opened = open(&path).and_then(|fd| {
            // An existing folder may have another mode.
            fchmod(&fd, Mode::RWXU)?;
            Ok(fd)
        });
        match opened {
            Ok(fd) => Ok(Self { path, fd }),
            Err(error) => Err(StatusSocketError::Folder(path, error)),
        }
    }

    /// Opens the folder in this state folder; `None` if it does not exist.
    pub(super) fn open(state: &Path) -> Result<Option<Self>, StatusSocketError> {
        let path = state.join(NAME);
        match open(&path) {
            Ok(fd) => Ok(Some(Self { path, fd })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StatusSocketError::Folder(path, error)),
        }
    }

    /// The names of the sockets, sorted.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        self.names_ending(SUFFIX)
    }

    /// Removes old sockets whose servers were killed before they listened. Failures are ignored.
    pub(super) fn remove_unfinished(&self) {
        let before =
            SystemTime::now().checked_sub(ABANDONED).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        for name in self.names_ending(UNFINISHED).unwrap_or_default() {
            let made = statat(&self.fd, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
            let made = made.ok().and_then(|stat| u64::try_from(stat.st_mtime).ok());
            if made.zip(before).is_some_and(|(made, before)| made < before.as_secs()) {
                self.remove(&name);
            }
        }
    }

    fn names_ending(&self, suffix: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().filter(|name| name.ends_with(suffix));
            names.extend(name.map(ToOwned::to_owned));
            if names.len() >= MAX_SOCKETS {
                break;
            }
        }
        names.sort();
        Ok(names)
    }

    /// Connects to a socket.
    pub(super) async fn connect(&self, name: &str) -> io::Result<UnixStream> {
        let address = self.address(name).map_err(io::Error::other)?;
        UnixStream::connect(address).await
    }

    /// Removes a socket. Failures are ignored, because the socket may be gone already.
    pub(super) fn remove(&self, name: &str) {
        let _ = unlinkat(&self.fd, name, AtFlags::empty());
    }

    /// Returns a path to a socket that fits into a socket address.
    pub(super) fn address(&self, name: &str) -> Result<PathBuf, StatusSocketError> {
        let path = self.path.join(name);
        if path.as_os_str().as_bytes().len() <= ADDRESS {
            return Ok(path);
        }
        short(&self.fd, name).ok_or(StatusSocketError::TooLong(path))
    }
}

/// Returns the path of a file in an open folder through `/proc`.
#[cfg(target_os = "linux")]
fn short(folder: &OwnedFd, name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())))
}

#[cfg(not(target_os = "linux"))]
fn short(_: &OwnedFd, _: &str) -> Option<PathBuf> {
    None
}

/// Opens a folder to which only this user can write.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = fstat(&folder)?;
    if stat.st_uid != geteuid().as_raw() || stat.st_mode & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is another user's, or others may write there",
        ));
    }
    Ok(folder)
}
