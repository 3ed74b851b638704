//! The folder of the status sockets: only this user may open it, it is held open, and its path is short enough.
//!
//! A socket address has about a hundred bytes, and a path can be longer. On Linux the files of an open folder also have
//! a short path through `/proc`.

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

/// Its name in the state folder.
const NAME: &str = "run";

/// How the names of sockets end.
const SUFFIX: &str = ".sock";

/// How the names of sockets end before their servers listen.
pub(super) const UNFINISHED: &str = ".new";

/// Age from which an unfinished socket counts as abandoned by a server that was killed: a server that runs needs the
/// name only until it listens.
const ABANDONED: Duration = Duration::from_secs(60);

/// Longest socket address that every system accepts, bytes.
const ADDRESS: usize = 100;

/// Most sockets that are read from the folder: one for each running server, and for each one killed since the last
/// cleanup.
const MAX_SOCKETS: usize = 1 << 16;

/// The folder, open.
#[derive(Debug)]
pub(super) struct SocketDir {
    pub(super) path: PathBuf,
    pub(super) fd: OwnedFd,
}

impl SocketDir {
    /// Opens the folder in this state folder, and makes it if it is missing.
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

    /// Opens the folder in this state folder; `None` when there is none.
    pub(super) fn open(state: &Path) -> Result<Option<Self>, StatusSocketError> {
        let path = state.join(NAME);
        match open(&path) {
            Ok(fd) => Ok(Some(Self { path, fd })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StatusSocketError::Folder(path, error)),
        }
    }

    /// The names of the sockets, in order.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        self.names_ending(SUFFIX)
    }

    /// Removes sockets of servers that were killed before their sockets had names, as far as possible.
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

    /// Removes a socket. Failures are ignored: it may be gone already.
    pub(super) fn remove(&self, name: &str) {
        let _ = unlinkat(&self.fd, name, AtFlags::empty());
    }

    /// A path to a socket that fits into an address.
    pub(super) fn address(&self, name: &str) -> Result<PathBuf, StatusSocketError> {
        let path = self.path.join(name);
        if path.as_os_str().as_bytes().len() <= ADDRESS {
            return Ok(path);
        }
        short(&self.fd, name).ok_or(StatusSocketError::TooLong(path))
    }
}

/// The path of a file in an open folder.
#[cfg(target_os = "linux")]
fn short(folder: &OwnedFd, name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())))
}

#[cfg(not(target_os = "linux"))]
fn short(_: &OwnedFd, _: &str) -> Option<PathBuf> {
    None
}

/// Opens a folder to which only this user may write.
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
