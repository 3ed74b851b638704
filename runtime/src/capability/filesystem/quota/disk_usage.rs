//! Measures what lies below a directory. The walk stops when it has found more files than the quota allows.
//!
//! No path is used, since a path leads elsewhere once a folder in it is renamed. A name is looked up in the directory
//! that it was read from, no link is followed, and the way back up is `..`, which has to lead to the directory that the
//! walk came from. So one directory is open at a time, however deep they lie.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dev, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

/// Sizes count in these steps, as on most disks, so that many small files are not free.
pub(super) const STEP: u64 = 4_096;

/// The result of a measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DiskUsage {
    pub(super) bytes: u64,
    /// Files, directories and links.
    pub(super) files: u64,
    /// Whether everything could be read.
    pub(super) complete: bool,
}

impl DiskUsage {
    /// More than any quota allows.
    pub(super) const FULL: Self = Self { bytes: u64::MAX, files: u64::MAX, complete: false };

    /// The larger of both.
    pub(super) fn at_least(self, other: Self) -> Self {
        let (bytes, files) = (self.bytes.max(other.bytes), self.files.max(other.files));
        Self { bytes, files, complete: self.complete }
    }

    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// A size in whole steps.
pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(STEP).unwrap_or(u64::MAX)
}

/// Measures everything below each root, and the files of `open` that no name leads to any more. Stops soon after it has
/// found `max_files`. Blocks.
pub(super) fn measure(roots: &[&File], open: &[Arc<File>], max_files: u64) -> DiskUsage {
    let usage = DiskUsage { complete: true, ..DiskUsage::default() };
    let mut walk = Walk { usage, linked: HashSet::new(), max_files };
    for root in roots {
        if walk.measure_below(root).is_err() {
            return DiskUsage { bytes: u64::MAX, complete: true, ..walk.usage };
        }
    }
    walk.count_deleted(open);
    walk.usage
}

/// Tells one file or directory from another: device and inode.
type FileId = (Dev, u64);

fn identity(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

/// The walk has found more files than the quota allows.
struct TooManyFiles;

/// The directory that the walk is in.
struct OpenDir {
    fd: OwnedFd,
    identity: FileId,
}

/// A directory that the walk came through and has to return to.
struct Ancestor {
    identity: FileId,
    /// How many of the pending folders lie further up.
    pending_above: usize,
}

struct Walk {
    usage: DiskUsage,
    /// Files with several names that were counted: their bytes count once.
    linked: HashSet<FileId>,
    max_files: u64,
}

impl Walk {
    fn measure_below(&mut self, root: &File) -> Result<(), TooManyFiles> {
        let (mut pending, mut ancestors) = (Vec::new(), Vec::<Ancestor>::new());
        let Some(mut here) = self.enter(root.as_fd(), c".") else { return Ok(()) };
        let mut pending_above = 0;
        self.read(&here, &mut pending)?;
        loop {
            if pending.len() > pending_above {
                let inner = pending.pop().and_then(|name: CString| self.enter(here.fd.as_fd(), &name));
                let Some(inner) = inner else { continue };
                ancestors.push(Ancestor { identity: here.identity, pending_above });
                (here, pending_above) = (inner, pending.len());
                self.read(&here, &mut pending)?;
            } else {
                let Some(parent) = ancestors.pop() else { return Ok(()) };
                let outer = self.enter(here.fd.as_fd(), c"..");
                let Some(outer) = outer.filter(|outer| outer.identity == parent.identity) else {
                    // Another program moved the directory, so the walk may have missed files.
                    self.usage.complete = false;
                    return Ok(());
                };
                (here, pending_above) = (outer, parent.pending_above);
            }
        }
    }

    /// Opens a folder. `None`: the folder is gone, or it cannot be opened and the usage is not complete.
    fn enter(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Option<OpenDir> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(dir, name, how, Mode::empty());
        let opened = opened.and_then(|fd| Ok(OpenDir { identity: identity(&fstat(&fd)?), fd }));
        // A folder that is gone has nothing to count.
        self.usage.complete &= opened.is_ok() || matches!(opened, Err(Errno::NOENT));
        opened.ok()
    }

    /// Counts what is in a folder, and adds the folders in it to `pending`.
    fn read(&mut self, folder: &OpenDir, pending: &mut Vec<CString>) -> Result<(), TooManyFiles> {
        let Ok(entries) = Dir::read_from(&folder.fd) else {
            self.usage.complete = false;
            return Ok(());
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.usage.complete = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.usage.files > self.max_files {
                return Err(TooManyFiles);
            }
            match statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => self.count(&stat, name, pending),
                Err(Errno::NOENT) => {}
                Err(_) => self.usage.complete = false,
            }
        }
        Ok(())
    }

    fn count(&mut self, stat: &Stat, name: &CStr, pending: &mut Vec<CString>) {
        let size = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                pending.push(name.to_owned());
                STEP
            }
            // Its bytes are counted under another name.
            _ if stat.st_nlink > 1 && !self.linked.insert(identity(stat)) => 0,
            FileType::RegularFile => rounded(stat.st_size.try_into().unwrap_or(0)),
            _ => STEP,
        };
        self.usage.add(size);
    }

    /// Counts open files that no name leads to any more, each once.
    fn count_deleted(&mut self, open: &[Arc<File>]) {
        let mut seen = HashSet::new();
        for file in open {
            match file.metadata() {
                Ok(metadata) if metadata.nlink() > 0 || !seen.insert((metadata.dev(), metadata.ino())) => {}
                Ok(metadata) => self.usage.add(rounded(metadata.len())),
                Err(_) => self.usage.complete = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(dir: &std::path::Path, max_files: u64) -> DiskUsage {
        measure(&[&File::open(dir).unwrap()], &[], max_files)
    }

    #[test]
    fn names_of_one_file_share_its_bytes_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a"), vec![1; 5_000]).unwrap();
        std::fs::hard_link(inner.join("a"), inner.join("b")).unwrap();
        std::os::unix::fs::symlink("/usr", inner.join("c")).unwrap();
        assert_eq!(measured(dir.path(), 100), DiskUsage { bytes: 4 * STEP, files: 4, complete: true });
    }

    #[test]
    fn a_crowded_directory_is_full_and_not_walked_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..100 {
            std::fs::write(dir.path().join(n.to_string()), "").unwrap();
        }
        let usage = measured(dir.path(), 10);
        assert!(usage.files <= 12 && usage.bytes == u64::MAX, "{usage:?}");
    }

    #[test]
    fn folders_deeper_than_any_path_reaches_are_measured_whole() {
        let dir = tempfile::tempdir().unwrap();
        let name = "n".repeat(255);
        let mut here: OwnedFd = File::open(dir.path()).unwrap().into();
        for _ in 0..200 {
            rustix::fs::mkdirat(&here, &*name, Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&here, "beside", Mode::RWXU).unwrap();
            here = openat(&here, &*name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        }
        assert_eq!(measured(dir.path(), 1_000), DiskUsage { bytes: 400 * STEP, files: 400, complete: true });
    }

    #[test]
    fn a_deleted_file_that_is_open_twice_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, vec![1; 5_000]).unwrap();
        let open = [File::open(&path).unwrap(), File::open(&path).unwrap()].map(Arc::new);
        let root = File::open(dir.path()).unwrap();
        assert_eq!(measure(&[&root], &open, 9).bytes, 2 * STEP);
        std::fs::remove_file(path).unwrap();
        assert_eq!(measure(&[&root], &open, 9), DiskUsage { bytes: 2 * STEP, files: 1, complete: true });
    }
}
