//! The digest of all that a tool makes a component of: equal digests mean that it would be given the same.
//!
//! Files count by their names below a folder and by their contents, and never by the folder's own path or by times: the
//! same project in two folders has one digest.
//!
//! A tool may read files that do not count, and it reads them later. So it is given copies of the files that count, and
//! each file is read once, for the digest and for the copy.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::not_reproducible::NotReproducible;

/// Maximum number of files and folders. With more, there is no digest, and every build runs the tool.
const MAX_ENTRIES: usize = 200_000;

/// Maximum bytes of all files whose contents count.
const MAX_BYTES: u64 = 1 << 30;

/// Maximum bytes of a file that is read as a text.
const MAX_TEXT: u64 = 16 << 20;

/// How many bytes of a file are in memory.
const PIECE: usize = 64 << 10;

/// A digest in the making.
#[derive(Default)]
pub(super) struct Inputs {
    hash: Sha256,
    entries: usize,
    bytes: u64,
}

/// What counts of a folder.
enum Entry {
    File,
    Folder,
    /// To a folder that counts itself: following it could lead in circles.
    Link(PathBuf),
}

impl Inputs {
    /// With its length, so that no two sequences of values are the same bytes.
    pub(super) fn value(&mut self, bytes: &[u8]) {
        self.hash.update(bytes.len().to_le_bytes());
        self.hash.update(bytes);
    }

    /// The content of a file.
    pub(super) fn file(&mut self, file: &Path) -> Result<(), NotReproducible> {
        self.content(file, |_| Ok(()))
    }

    /// The content of a file that is not too large for the memory. Only what the caller adds of it counts.
    pub(super) fn text(&mut self, file: &Path) -> Result<Vec<u8>, NotReproducible> {
        let mut bytes = Vec::new();
        let read = open(file)?.take(MAX_TEXT + 1).read_to_end(&mut bytes);
        read.map_err(|error| NotReproducible::Unreadable(file.to_owned(), error))?;
        self.count(bytes.len())?;
        if bytes.len() as u64 > MAX_TEXT { Err(NotReproducible::TooLarge) } else { Ok(bytes) }
    }

    /// The names and contents of all files below a folder, except those for which `is_skipped` holds.
    pub(super) fn folder(
        &mut self,
        folder: &Path,
        is_skipped: &impl Fn(&Path) -> bool,
    ) -> Result<(), NotReproducible> {
        self.files(folder, is_skipped, Self::file)
    }

    /// The names of all files below a folder, and of each what `each` adds.
    pub(super) fn files(
        &mut self,
        folder: &Path,
        is_skipped: &impl Fn(&Path) -> bool,
        mut each: impl FnMut(&mut Self, &Path) -> Result<(), NotReproducible>,
    ) -> Result<(), NotReproducible> {
        self.below(folder, is_skipped, |inputs, below, entry| match entry {
            Entry::File => each(inputs, &folder.join(below)),
            Entry::Folder | Entry::Link(_) => Ok(()),
        })
    }

    /// Like `folder`, and copies what counts to `to`, which is a new folder.
    pub(super) fn copy(
        &mut self,
        folder: &Path,
        to: &Path,
        is_skipped: &impl Fn(&Path) -> bool,
    ) -> Result<(), NotReproducible> {
        let made = |path: &Path, made: io::Result<()>| {
            made.map_err(|error| NotReproducible::NotCopied(path.to_owned(), error))
        };
        made(to, std::fs::create_dir_all(to))?;
        self.below(folder, is_skipped, |inputs, below, entry| {
            let copy = to.join(below);
            match entry {
                Entry::File => inputs.copy_file(&folder.join(below), &copy),
                Entry::Folder => made(&copy, std::fs::create_dir(&copy)),
                Entry::Link(text) => made(&copy, symlink(text, &copy)),
            }
        })
    }

    fn copy_file(&mut self, file: &Path, to: &Path) -> Result<(), NotReproducible> {
        let not_copied = |error| NotReproducible::NotCopied(to.to_owned(), error);
        let mut copy = File::create_new(to).map_err(not_copied)?;
        self.content(file, |piece| copy.write_all(piece).map_err(not_copied))
    }

    /// Reads a file in pieces, and passes them to `each`.
    fn content(
        &mut self,
        file: &Path,
        mut each: impl FnMut(&[u8]) -> Result<(), NotReproducible>,
    ) -> Result<(), NotReproducible> {
        // One byte more than may be read shows that the file is too large, also if it grows.
        let left = MAX_BYTES.saturating_sub(self.bytes);
        let mut pieces = open(file)?.take(left.saturating_add(1));
        let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
        loop {
            let read = pieces.read(&mut piece);
            let read = read.map_err(|error| NotReproducible::Unreadable(file.to_owned(), error))?;
            let Some(piece) = piece.get(..read).filter(|piece| !piece.is_empty()) else { break };
            self.count(read)?;
            hash.update(piece);
            each(piece)?;
        }
        self.value(hash.finalize().as_slice());
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), NotReproducible> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > MAX_BYTES { Err(NotReproducible::TooLarge) } else { Ok(()) }
    }

    /// Adds the names of all that is below a folder, and passes their paths from there to `each`.
    fn below(
        &mut self,
        folder: &Path,
        is_skipped: &impl Fn(&Path) -> bool,
        mut each: impl FnMut(&mut Self, &Path, &Entry) -> Result<(), NotReproducible>,
    ) -> Result<(), NotReproducible> {
        let mut pending = vec![PathBuf::new()];
        while let Some(inner) = pending.pop() {
            let names = self.names(&folder.join(&inner), is_skipped)?;
            self.value(inner.as_os_str().as_bytes());
            for name in names {
                let below = inner.join(&name);
                let Some(entry) = entry(folder, &folder.join(&below), is_skipped)? else { continue };
                self.entry(&name, &entry);
                each(self, &below, &entry)?;
                if matches!(entry, Entry::Folder) {
                    pending.push(below);
                }
            }
            self.value(b"");
        }
        Ok(())
    }

    /// The names in a folder in their order: a file system lists them in any.
    fn names(
        &mut self,
        folder: &Path,
        is_skipped: &impl Fn(&Path) -> bool,
    ) -> Result<Vec<OsString>, NotReproducible> {
        let unreadable = |error| NotReproducible::Unreadable(folder.to_owned(), error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if is_skipped(&entry.path()) {
                continue;
            }
            self.entries = self.entries.saturating_add(1);
            if self.entries > MAX_ENTRIES {
                return Err(NotReproducible::TooLarge);
            }
            names.push(entry.file_name());
        }
        names.sort();
        Ok(names)
    }

    fn entry(&mut self, name: &OsStr, entry: &Entry) {
        self.value(name.as_bytes());
        match entry {
            Entry::File => self.value(b"file"),
            Entry::Folder => self.value(b"folder"),
            Entry::Link(text) => {
                self.value(b"link");
                self.value(text.as_os_str().as_bytes());
            }
        }
    }

    /// The digest in hexadecimal digits.
    pub(super) fn digest(self) -> String {
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Opens a regular file; opening anything else may block for ever.
fn open(file: &Path) -> Result<File, NotReproducible> {
    let opened = match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => File::open(file),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
        Err(error) => Err(error),
    };
    opened.map_err(|error| NotReproducible::Unreadable(file.to_owned(), error))
}

/// What a path is. `None` for what no tool can read: a pipe, a device, or a link to nothing.
fn entry(
    root: &Path,
    path: &Path,
    is_skipped: &impl Fn(&Path) -> bool,
) -> Result<Option<Entry>, NotReproducible> {
    let unreadable = |error| NotReproducible::Unreadable(path.to_owned(), error);
    let is_link = std::fs::symlink_metadata(path).map_err(unreadable)?.is_symlink();
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(Entry::File)),
        Ok(metadata) if metadata.is_dir() && is_link => link(root, path, is_skipped).map(Some),
        Ok(metadata) => Ok(metadata.is_dir().then_some(Entry::Folder)),
        Err(error) if is_link && error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

/// A link to a folder. In a copy it leads to the copy of that folder, so the folder has to be one that counts.
fn link(root: &Path, path: &Path, is_skipped: &impl Fn(&Path) -> bool) -> Result<Entry, NotReproducible> {
    let unreadable = |error| NotReproducible::Unreadable(path.to_owned(), error);
    let text = std::fs::read_link(path).map_err(unreadable)?;
    let target = path.canonicalize().map_err(unreadable)?;
    let below = root.canonicalize().ok().and_then(|root| Some(target.strip_prefix(root).ok()?.to_owned()));
    let counts = |below: PathBuf| {
        let mut parts = below.ancestors().filter(|part| part.file_name().is_some());
        !parts.any(|part| is_skipped(&root.join(part)))
    };
    match text.is_relative() && below.is_some_and(counts) {
        true => Ok(Entry::Link(text)),
        false => Err(NotReproducible::LinkOut(path.to_owned())),
    }
}

#[cfg(test)]
mod tests;
