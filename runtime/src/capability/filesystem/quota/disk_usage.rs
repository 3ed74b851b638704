//! Measures what lies below a directory, within bounds: a directory that holds more files than may lie there is not
//! walked to its end.
//!
//! No path is used, since a path leads elsewhere once a folder in it is renamed. A name is looked up in the directory
//! that it was read from, no link is followed, and the way back up is `..`, which has to lead to where the walk came
//! from. So one directory is open at a time, however deep they lie.

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

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DiskUsage {
    pub(super) bytes: u64,
    /// Files, directories and links.
    pub(super) files: u64,
    /// Whether all of it was seen.
    pub(super) complete: bool,
}

impl DiskUsage {
    /// Nothing more fits in.
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

/// A size as it counts.
pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(STEP).unwrap_or(u64::MAX)
}

/// Looks at everything below each root, at hardly more than `most` files, and at the files that are open and have no
/// name any more. Blocks.
pub(super) fn measure(roots: &[&File], open: &[Arc<File>], most: u64) -> DiskUsage {
    let mut walk =
        Walk { found: DiskUsage { complete: true, ..DiskUsage::default() }, linked: HashSet::new(), most };
    for root in roots {
        if walk.below(root).is_err() {
            return DiskUsage { bytes: u64::MAX, complete: true, ..walk.found };
        }
    }
    walk.deleted(open);
    walk.found
}

/// What tells one file or directory from another.
type FileId = (Dev, u64);

fn identity(of: &Stat) -> FileId {
    (of.st_dev, of.st_ino)
}

/// More lies there than may.
struct TooManyFiles;

/// A directory that the walk is in.
struct OpenDir {
    fd: OwnedFd,
    identity: FileId,
}

/// One that it came through.
struct Ancestor {
    identity: FileId,
    /// How many of the folders that are still to be entered lie further up.
    others: usize,
}

struct Walk {
    found: DiskUsage,
    /// Files with several names that were seen: their bytes count once.
    linked: HashSet<FileId>,
    most: u64,
}

impl Walk {
    fn below(&mut self, root: &File) -> Result<(), TooManyFiles> {
        let (mut ahead, mut above) = (Vec::new(), Vec::<Ancestor>::new());
        let Some(mut here) = self.enter(root.as_fd(), c".") else { return Ok(()) };
        let mut others = 0;
        self.read(&here, &mut ahead)?;
        loop {
            if ahead.len() > others {
                let inner = ahead.pop().and_then(|name: CString| self.enter(here.fd.as_fd(), &name));
                let Some(inner) = inner else { continue };
                above.push(Ancestor { identity: here.identity, others });
                (here, others) = (inner, ahead.len());
                self.read(&here, &mut ahead)?;
            } else {
                let Some(back) = above.pop() else { return Ok(()) };
                let outer = self.enter(here.fd.as_fd(), c"..");
                let Some(outer) = outer.filter(|outer| outer.identity == back.identity) else {
                    // Another program moved it: nobody can say what was missed.
                    self.found.complete = false;
                    return Ok(());
                };
                (here, others) = (outer, back.others);
            }
        }
    }

    /// Opens a folder. `None`: it has gone, or cannot be looked into, which is noted.
    fn enter(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Option<OpenDir> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(dir, name, how, Mode::empty());
        let opened = opened.and_then(|fd| Ok(OpenDir { identity: identity(&fstat(&fd)?), fd }));
        // What has gone is not there to be counted.
        self.found.complete &= opened.is_ok() || matches!(opened, Err(Errno::NOENT));
        opened.ok()
    }

    /// Counts what is in a folder, and notes the folders in it.
    fn read(&mut self, folder: &OpenDir, ahead: &mut Vec<CString>) -> Result<(), TooManyFiles> {
        let Ok(entries) = Dir::read_from(&folder.fd) else {
            self.found.complete = false;
            return Ok(());
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.found.complete = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.found.files > self.most {
                return Err(TooManyFiles);
            }
            match statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(about) => self.count(&about, name, ahead),
                Err(Errno::NOENT) => {}
                Err(_) => self.found.complete = false,
            }
        }
        Ok(())
    }

    fn count(&mut self, about: &Stat, name: &CStr, ahead: &mut Vec<CString>) {
        let size = match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => {
                ahead.push(name.to_owned());
                STEP
            }
            // Its bytes are counted under another name.
            _ if about.st_nlink > 1 && !self.linked.insert(identity(about)) => 0,
            FileType::RegularFile => rounded(about.st_size.try_into().unwrap_or(0)),
            _ => STEP,
        };
        self.found.add(size);
    }

    /// Counts open files that no name leads to any more, each once.
    fn deleted(&mut self, open: &[Arc<File>]) {
        let mut seen = HashSet::new();
        for file in open {
            match file.metadata() {
                Ok(about) if about.nlink() > 0 || !seen.insert((about.dev(), about.ino())) => {}
                Ok(about) => self.found.add(rounded(about.len())),
                Err(_) => self.found.complete = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(dir: &std::path::Path, most: u64) -> DiskUsage {
        measure(&[&File::open(dir).unwrap()], &[], most)
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
        let found = measured(dir.path(), 10);
        assert!(found.files <= 12 && found.bytes == u64::MAX, "{found:?}");
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
