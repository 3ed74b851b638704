//! Compiled code, kept in a folder of the person who runs this or in a state folder, so that a file is compiled once.
//!
//! Compiled code is native code, so whoever can put a file here could run anything. The folder is the user's own, and
//! every file carries a MAC under a secret that lies in the folder too. The MAC is bound to that very secret file, to
//! its inode and the time when it was made: a state folder that came in an archive or a repository, with code and a
//! fitting secret in it, opens nothing. Several servers may share a folder. A server may be killed at any moment: files
//! get their names when they are whole, and one that is not what was kept is removed and compiled anew.

mod code_file;
mod private_dir;

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

pub(super) use code_file::Key;
pub(super) use private_dir::CompileLock;

use super::deserialize::MachineCode;
use crate::observe::Escaped;
use code_file::{FileMac, TAIL};
use private_dir::{PrivateDir, whole};

/// The folder inside the state folder, or inside the person's.
const FOLDER: &str = "compiled";

/// Ends the names of compiled code.
const SUFFIX: &str = ".code";

const SECRET: &str = "secret";
const SECRET_BYTES: usize = 32;

/// What was compiled before.
#[derive(Debug)]
pub struct CodeCache {
    folder: PrivateDir,
    /// Where the folder is, for messages.
    shown: PathBuf,
    mac: FileMac,
    most: u64,
    complained: AtomicBool,
}

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the code cache {}", folder.display())]
pub struct CacheError {
    folder: PathBuf,
    source: io::Error,
}

impl CodeCache {
    /// Opens or makes the cache of a state folder, for at most `mib` MiB; nothing for 0.
    ///
    /// # Errors
    /// When the folder cannot be used, or others may write there.
    pub fn open(state: &Path, mib: u64) -> Result<Option<Self>, CacheError> {
        if mib == 0 {
            return Ok(None);
        }
        let folder = state.join(FOLDER);
        Self::at(&folder, mib << 20, true).map(Some).map_err(|source| CacheError { folder, source })
    }

    /// Opens the cache of a state folder, if it has one that can be used.
    #[must_use]
    pub fn existing(state: &Path, mib: u64) -> Option<Self> {
        if mib == 0 || state.as_os_str().is_empty() {
            return None;
        }
        Self::at(&state.join(FOLDER), mib << 20, false).ok()
    }

    /// Opens or makes the cache of the person who runs this, in a folder that is theirs alone; nothing for 0.
    ///
    /// # Errors
    /// When the folder cannot be used, or is or would be somebody else's.
    pub fn own(folder: &Path, mib: u64) -> Result<Option<Self>, CacheError> {
        if mib == 0 {
            return Ok(None);
        }
        let opened = match is_among_own(folder) {
            true => {
                PrivateDir::open(folder, true).and_then(|_| Self::at(&folder.join(FOLDER), mib << 20, true))
            }
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is in another user's folder")),
        };
        opened.map(Some).map_err(|source| CacheError { folder: folder.to_owned(), source })
    }

    /// Opens the cache that a server has used, for whoever finishes what it began.
    pub(super) fn in_folder(folder: &Path, mib: u64) -> io::Result<Self> {
        Self::at(folder, mib << 20, false)
    }

    /// The whole path of its folder, and its room in MiB.
    pub(super) fn location(&self) -> (PathBuf, u64) {
        (std::path::absolute(&self.shown).unwrap_or_else(|_| self.shown.clone()), self.most >> 20)
    }

    fn at(path: &Path, most: u64, make: bool) -> io::Result<Self> {
        let folder = PrivateDir::open(path, make)?;
        // First, since it may take a second name from the secret.
        folder.sweep()?;
        let mac = mac(&folder)?;
        Ok(Self { folder, shown: path.to_owned(), mac, most, complained: AtomicBool::new(false) })
    }

    /// The code that was kept under this key, unless it is larger than `most` bytes.
    pub(super) fn get(&self, key: &Key, most: u64) -> Option<MachineCode> {
        let name = key.file();
        let file = match self.folder.read(&name) {
            Ok(file) => file,
            Err(error) if is_foreign(&error) => return self.discard(&name),
            Err(_) => return None,
        };
        if file.metadata().is_ok_and(|metadata| metadata.len() > most.saturating_add(TAIL as u64)) {
            return None;
        }
        let bytes = whole(&file, most.saturating_add(TAIL as u64)).ok();
        let length = bytes.as_ref().and_then(|bytes| Some(self.mac.open(key, bytes)?.len()));
        match (bytes, length) {
            (Some(mut bytes), Some(length)) => {
                bytes.truncate(length);
                self.folder.touch(&file);
                Some(MachineCode::Cached(file, bytes))
            }
            _ => self.discard(&name),
        }
    }

    fn discard(&self, name: &str) -> Option<MachineCode> {
        tracing::warn!(
            name,
            "cached code failed its MAC check; it is removed, and the file is compiled again"
        );
        let _ = self.folder.remove(name);
        None
    }

    /// Keeps code, and removes what was not used for longest to make room. Failing costs a later server the time.
    pub(super) fn insert(&self, key: &Key, code: &[u8]) {
        let size = (TAIL + code.len()) as u64;
        if size > self.most {
            return;
        }
        let kept = self
            .make_room(size)
            .and_then(|()| self.folder.write(&key.file(), &[code, &self.mac.tail(key, code)]));
        if let Err(error) = kept
            && !self.complained.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %error,
                "cannot write to the code cache {}, so the file is compiled again next time; check its disk and its mode",
                Escaped(&self.shown.display().to_string())
            );
        }
    }

    /// Says to all others that we are about to keep code under this key, `second` to those who waited too long for the first;
    /// `None` while somebody else does.
    pub(super) fn lock(&self, key: &Key, second: bool) -> io::Result<Option<CompileLock>> {
        self.folder.lock(&(key.hex() + if second { "-second" } else { "" }))
    }

    /// We did, or gave it up.
    pub(super) fn unlock(&self, lock: CompileLock) {
        self.folder.unlock(lock);
    }

    fn make_room(&self, wanted: u64) -> io::Result<()> {
        let mut files = self.folder.files(SUFFIX)?;
        files.sort_by_key(|file| file.used);
        let mut sum: u64 = files.iter().map(|file| file.bytes).sum::<u64>().saturating_add(wanted);
        for file in files {
            if sum <= self.most {
                break;
            }
            sum = sum.saturating_sub(file.bytes);
            let _ = self.folder.remove(file.name.as_c_str());
        }
        Ok(())
    }
}

/// Whether a folder is, or would be made, among those of this user. `sudo` leaves `HOME` as it is, and what is made
/// there then, the owner of that home could not use.
fn is_among_own(folder: &Path) -> bool {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = folder.ancestors().find_map(|folder| folder.metadata().ok());
    there.is_some_and(|there| there.uid() == rustix::process::geteuid().as_raw())
}

/// Whether what has the name is no file that a server made.
fn is_foreign(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// The MAC key of a folder. The first server to come makes the secret.
fn mac(folder: &PrivateDir) -> io::Result<FileMac> {
    if let Some(mac) = existing_mac(folder)? {
        return Ok(mac);
    }
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    folder.write_first(SECRET, &[&secret])?;
    existing_mac(folder)?.ok_or_else(|| io::Error::other("its secret cannot be read"))
}

/// The MAC key of the secret that is there. One that others could have read or that is no secret goes.
fn existing_mac(folder: &PrivateDir) -> io::Result<Option<FileMac>> {
    let file = match folder.read(SECRET) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    let private = metadata.mode() & 0o077 == 0 && metadata.uid() == rustix::process::geteuid().as_raw();
    if !private || metadata.len() != SECRET_BYTES as u64 {
        folder.remove(SECRET)?;
        return Ok(None);
    }
    // When the file system does not know when a file was made, the last change of the file's inode stands for it.
    // Whoever makes the secret is done with that when its lock is gone.
    file.lock_shared()?;
    let metadata = file.metadata()?;
    let changed = || (metadata.ctime(), metadata.ctime_nsec());
    let made = metadata.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let (seconds, nanos) =
        made.map_or_else(changed, |made| (made.as_secs().cast_signed(), i64::from(made.subsec_nanos())));
    let bounds = [metadata.ino().to_le_bytes(), seconds.to_le_bytes(), nanos.to_le_bytes()].concat();
    Ok(FileMac::new(&whole(&file, SECRET_BYTES as u64)?, &bounds))
}

#[cfg(test)]
mod tests;
