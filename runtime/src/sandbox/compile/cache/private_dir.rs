//! A folder to which only this user can write. It is held open, and every file in it is opened relative to it, so that
//! the folder cannot be replaced between two steps.

use std::ffi::CString;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, Mode, OFlags, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::fs::{Dir, Timespec, fstat, futimens, linkat, openat, renameat, unlinkat};
use rustix::process::geteuid;

/// The prefix of the names of unfinished files and of locks.
const UNFINISHED: &str = "tmp-";

/// How often writing a file is attempted when other servers remove the unfinished file.
const ATTEMPTS: usize = 8;

#[derive(Debug)]
pub(super) struct PrivateDir(OwnedFd);

/// The lock of a file, which one process at a time can hold. The system releases it when the process ends.
#[derive(Debug)]
pub(in super::super) struct CompileLock {
    file: File,
    name: String,
}

impl CompileLock {
    /// Shares the lock with another process: it is released when both have closed it.
    pub(in super::super) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// A file of the folder, with what is needed to evict it.
#[derive(Debug)]
pub(super) struct CacheFile {
    pub(super) name: CString,
    pub(super) bytes: u64,
    pub(super) used: SystemTime,
}

impl PrivateDir {
    /// Opens a folder. With `make`, creates it first.
    pub(super) fn open(path: &Path, make: bool) -> io::Result<Self> {
        if make {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        let stat = fstat(&folder)?;
        if stat.st_uid != geteuid().as_raw() || stat.st_mode & 0o022 != 0 {
            let why = "others may write there; make it yours, with `chmod 700`";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self(folder))
    }

    /// Opens a file for reading.
    pub(super) fn read(&self, name: &str) -> io::Result<File> {
        // If the name belongs to a link, opening fails; if it belongs to a FIFO, opening does not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
        }
        Ok(file)
    }

    /// Writes a file atomically: it gets its name only when all of it is on the disk.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.finish(parts, |unfinished| Ok(renameat(&self.0, unfinished, &self.0, name)?))
    }

    /// Writes a file atomically, unless it exists already.
    pub(super) fn write_first(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let link = |unfinished: &str| {
            match linkat(&self.0, unfinished, &self.0, name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(self.remove(unfinished)?)
        };
        self.finish(parts, link)
    }

    /// Tries a few times: a server that starts may consider an unfinished file abandoned, and remove it, before the
    /// file is locked.
    fn finish(&self, parts: &[&[u8]], name: impl Fn(&str) -> io::Result<()>) -> io::Result<()> {
        let mut finished = self.try_to_finish(parts, &name);
        for _ in 1..ATTEMPTS {
            match &finished {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    finished = self.try_to_finish(parts, &name);
                }
                _ => break,
            }
        }
        finished
    }

    fn try_to_finish(&self, parts: &[&[u8]], name: impl Fn(&str) -> io::Result<()>) -> io::Result<()> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let unfinished = format!("{UNFINISHED}{:016x}", u64::from_le_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.0, unfinished.as_str(), flags, Mode::RUSR | Mode::WUSR)?);
        // The lock tells other servers that the file is being written.
        let written = file
            .lock()
            .and_then(|()| parts.iter().try_for_each(|part| file.write_all(part)))
            .and_then(|()| file.sync_all())
            .and_then(|()| name(&unfinished));
        if written.is_err() {
            let _ = self.remove(&unfinished);
        }
        written
    }

    /// Takes the lock with this name, unless another process holds it.
    pub(super) fn lock(&self, name: &str) -> io::Result<Option<CompileLock>> {
        let name = format!("{UNFINISHED}{name}");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?);
        match file.try_lock() {
            // The process that held the lock may have removed the file after it was opened here. The next attempt
            // creates a new file.
            Ok(()) => Ok((file.metadata()?.nlink() > 0).then_some(CompileLock { file, name })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Releases a lock and removes its file.
    pub(super) fn unlock(&self, lock: CompileLock) {
        let _ = self.remove(lock.name.as_str());
        drop(lock);
    }

    pub(super) fn remove(&self, name: impl rustix::path::Arg) -> rustix::io::Result<()> {
        unlinkat(&self.0, name, AtFlags::empty())
    }

    /// Sets the time when a file was last used to now.
    pub(super) fn touch(&self, file: &File) {
        let (now, unchanged) =
            (Timespec { tv_sec: 0, tv_nsec: UTIME_NOW }, Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT });
        let _ = futimens(file, &Timestamps { last_access: unchanged, last_modification: now });
    }

    /// The files whose names have this suffix.
    pub(super) fn files(&self, suffix: &str) -> io::Result<Vec<CacheFile>> {
        let mut files = Vec::new();
        for name in self.names()? {
            if !name.to_bytes().ends_with(suffix.as_bytes()) {
                continue;
            }
            // Another server may have removed the file meanwhile.
            let Some(file) = name.to_str().ok().and_then(|name| self.read(name).ok()) else { continue };
            let metadata = file.metadata()?;
            files.push(CacheFile { name, bytes: metadata.len(), used: metadata.modified()? });
        }
        Ok(files)
    }

    /// Removes unfinished files that killed servers left behind.
    pub(super) fn sweep(&self) -> io::Result<()> {
        for name in self.names()? {
            let Some(name) = name.to_str().ok().filter(|name| name.starts_with(UNFINISHED)) else { continue };
            let Ok(file) = self.read(name) else { continue };
            // The lock is held until the file is removed, so that no process takes it as its own lock in between. If
            // the file has no links, it was removed already, and its name may belong to a newer file.
            if file.try_lock().is_ok() && file.metadata()?.nlink() > 0 {
                let _ = self.remove(name);
            }
        }
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<CString>> {
        let entries = Dir::read_from(&self.0)?;
        entries.map(|entry| Ok(entry?.file_name().to_owned())).collect()
    }
}

/// Reads a whole file of at most `max` bytes.
pub(super) fn whole(file: &File, max: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}
