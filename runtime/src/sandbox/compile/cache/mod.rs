//! The code cache: compiled code in the user's cache folder or in a state folder, so that each file is compiled only
//! once.
//!
//! Compiled code is native code, so a file that somebody else put here could do anything. Only this user can write to
//! the folder, and every file has a MAC with a secret that is in the folder too. The key of the MAC also depends on the
//! inode and the creation time of the secret's file. So a state folder from an archive or a repository, with code and a
//! matching secret, is not accepted. Several servers may share a folder, and a server may be killed at any moment: a
//! file gets its name only when it is complete, and a file whose MAC is invalid is removed and compiled again.

mod code_file;
mod private_dir;

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use wasmtime::Engine;
use wasmtime::component::Component;

pub(super) use code_file::Key;
pub(super) use private_dir::CompileLock;

use super::deserialize::MachineCode;
use crate::observe::Escaped;
use code_file::{FileMac, TAIL};
use private_dir::{PrivateDir, whole};

/// The folder's name in the state folder or in the user's cache folder.
const FOLDER: &str = "compiled";

/// The suffix of files with compiled code.
const SUFFIX: &str = ".code";

const SECRET: &str = "secret";
const SECRET_BYTES: usize = 32;

/// A folder with compiled code.
#[derive(Debug)]
pub struct CodeCache {
    folder: PrivateDir,
    /// The path of the folder, for messages.
    path: PathBuf,
    mac: FileMac,
    max_bytes: u64,
    /// Whether the log has reported that writing fails.
    has_warned: AtomicBool,
}

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the code cache {}", folder.display())]
pub struct CacheError {
    folder: PathBuf,
    source: io::Error,
}

impl CodeCache {
    /// Opens or creates the cache in a state folder, for at most `mib` MiB. Returns `None` if `mib` is 0.
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

    /// Opens the cache in a state folder, if it exists and can be used.
    #[must_use]
    pub fn existing(state: &Path, mib: u64) -> Option<Self> {
        if mib == 0 || state.as_os_str().is_empty() {
            return None;
        }
        Self::at(&state.join(FOLDER), mib << 20, false).ok()
    }

    /// Opens or creates the cache of this user, in a folder to which only this user can write. Returns `None` if `mib`
    /// is 0.
    ///
    /// # Errors
    /// When the folder cannot be used, or belongs or would belong to another user.
    pub fn own(folder: &Path, mib: u64) -> Result<Option<Self>, CacheError> {
        if mib == 0 {
            return Ok(None);
        }
        let opened = match is_in_own_folder(folder) {
            true => {
                PrivateDir::open(folder, true).and_then(|_| Self::at(&folder.join(FOLDER), mib << 20, true))
            }
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is in another user's folder")),
        };
        opened.map(Some).map_err(|source| CacheError { folder: folder.to_owned(), source })
    }

    /// Opens the cache of a server that has ended, for the process that stores the code from its compiler.
    pub(super) fn in_folder(folder: &Path, mib: u64) -> io::Result<Self> {
        Self::at(folder, mib << 20, false)
    }

    /// The absolute path of the folder, and the maximum size of the cache in MiB.
    pub(super) fn location(&self) -> (PathBuf, u64) {
        (std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()), self.max_bytes >> 20)
    }

    fn at(path: &Path, max_bytes: u64, make: bool) -> io::Result<Self> {
        let folder = PrivateDir::open(path, make)?;
        // The secret is read after this, because this may remove a second name of its file, which changes the inode's
        // ctime.
        folder.sweep()?;
        let mac = mac(&folder)?;
        Ok(Self { folder, path: path.to_owned(), mac, max_bytes, has_warned: AtomicBool::new(false) })
    }

    /// Loads the component whose code is stored under this key, unless the code is larger than `max_bytes`. It is an
    /// error if the code is for another engine.
    pub(super) fn load(
        &self,
        engine: &Engine,
        key: &Key,
        max_bytes: u64,
    ) -> Option<wasmtime::Result<Component>> {
        let mapped = self.mapped(key, max_bytes)?.load(engine);
        // On some file systems (`noexec`) a file cannot be mapped as code.
        Some(
            mapped
                .or_else(|error| self.in_memory(key, max_bytes).map_or(Err(error), |code| code.load(engine))),
        )
    }

    /// Returns the file that is stored under this key, to be mapped.
    fn mapped(&self, key: &Key, max_bytes: u64) -> Option<MachineCode> {
        let (file, length) = self.find(key, max_bytes)?;
        match self.mac.check(key, &file, length) {
            Ok(true) => {
                self.folder.touch(&file);
                Some(MachineCode::Cached(file))
            }
            Ok(false) => {
                self.discard(&key.file());
                None
            }
            // The next code that is stored replaces this file.
            Err(error) => {
                tracing::warn!(%error, "cached code cannot be read; the file is compiled again");
                None
            }
        }
    }

    /// Returns the code that is stored under this key, in memory.
    fn in_memory(&self, key: &Key, max_bytes: u64) -> Option<MachineCode> {
        let (file, length) = self.find(key, max_bytes)?;
        let mut bytes = whole(&file, length).ok()?;
        let length = self.mac.open(key, &bytes)?.len();
        bytes.truncate(length);
        Some(MachineCode::CachedBytes(bytes))
    }

    /// Returns the open file for this key and its length, unless its code is larger than `max_bytes`.
    fn find(&self, key: &Key, max_bytes: u64) -> Option<(File, u64)> {
        let name = key.file();
        let file = self.folder.read(&name).inspect_err(|error| {
            if is_foreign(error) {
                self.discard(&name);
            }
        });
        let file = file.ok()?;
        let length = file.metadata().ok()?.len();
        (length <= max_bytes.saturating_add(TAIL as u64)).then_some((file, length))
    }

    fn discard(&self, name: &str) {
        tracing::warn!(
            name,
            "cached code failed its MAC check; it is removed, and the file is compiled again"
        );
        let _ = self.folder.remove(name);
    }

    /// Stores code, after removing the least recently used files. If this fails, a later server compiles the component
    /// again.
    pub(super) fn insert(&self, key: &Key, code: &[u8]) {
        let size = (TAIL + code.len()) as u64;
        if size > self.max_bytes {
            return;
        }
        let stored = self
            .evict(size)
            .and_then(|()| self.folder.write(&key.file(), &[code, &self.mac.tail(key, code)]));
        if let Err(error) = stored
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                %error,
                "cannot write to the code cache {}, so the file is compiled again next time; check its disk and its mode",
                Escaped(&self.path.display().to_string())
            );
        }
    }

    /// Takes the lock for compiling the file with this key; or the `second` lock, for processes that have waited too
    /// long for the first. Returns `None` while another process holds the lock.
    pub(super) fn lock(&self, key: &Key, second: bool) -> io::Result<Option<CompileLock>> {
        self.folder.lock(&(key.hex() + if second { "-second" } else { "" }))
    }

    /// Releases a lock and removes its file.
    pub(super) fn unlock(&self, lock: CompileLock) {
        self.folder.unlock(lock);
    }

    /// Removes the least recently used files, until `size` more bytes fit.
    fn evict(&self, size: u64) -> io::Result<()> {
        let mut files = self.folder.files(SUFFIX)?;
        files.sort_by_key(|file| file.used);
        let mut sum: u64 = files.iter().map(|file| file.bytes).sum::<u64>().saturating_add(size);
        for file in files {
            if sum <= self.max_bytes {
                break;
            }
            sum = sum.saturating_sub(file.bytes);
            let _ = self.folder.remove(file.name.as_c_str());
        }
        Ok(())
    }
}

/// Whether a folder is, or would be created, inside a folder of this user. `sudo` may leave `HOME` unchanged, and the
/// owner of that home could not use a folder that root creates there.
fn is_in_own_folder(folder: &Path) -> bool {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let existing = folder.ancestors().find_map(|folder| folder.metadata().ok());
    existing.is_some_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

/// Whether the name belongs to a link or to something else that no server creates.
fn is_foreign(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Returns the MAC of a folder. The first server that uses the folder creates the secret.
fn mac(folder: &PrivateDir) -> io::Result<FileMac> {
    if let Some(mac) = existing_mac(folder)? {
        return Ok(mac);
    }
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    folder.write_first(SECRET, &[&secret])?;
    existing_mac(folder)?.ok_or_else(|| io::Error::other("its secret cannot be read"))
}

/// Returns the MAC with the existing secret. A secret of another size, or one that others could read, is removed.
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
    // The process that creates the secret holds its lock until the file has its name and the inode no longer changes.
    // If the file system has no creation time, the ctime of the inode is used instead.
    file.lock_shared()?;
    let metadata = file.metadata()?;
    let changed = || (metadata.ctime(), metadata.ctime_nsec());
    let made = metadata.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let (seconds, nanos) =
        made.map_or_else(changed, |made| (made.as_secs().cast_signed(), i64::from(made.subsec_nanos())));
    let file_identity = [metadata.ino().to_le_bytes(), seconds.to_le_bytes(), nanos.to_le_bytes()].concat();
    Ok(FileMac::new(&whole(&file, SECRET_BYTES as u64)?, &file_identity))
}

#[cfg(test)]
mod tests;
