//! Which files of a project are sources, and what is in them. Files are compared by content: a build that writes the
//! same content again has changed nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use plugport_common::{FILE_FOLDERS, FileStat};
use sha2::{Digest as _, Sha256};

use super::walk::walk;
use crate::project::source_names::{is_cache, is_hidden_or_temporary, is_no_source};

/// Folders of builds and of packages, besides those that are no sources of any build.
const EXCLUDED_FOLDERS: [&str; 2] = ["target", "node_modules"];

/// Maximum bytes of one file, and of all files in one scan, that are read for comparison. For other files every write
/// counts as a change.
const MAX_READ: (u64, u64) = (1 << 20, 64 << 20);

/// The sources of one project.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    root: PathBuf,
    /// Paths that this project's build, its server and its plugin write to.
    others: Vec<PathBuf>,
    /// Device and inode of the files behind stdout and stderr of this program.
    outputs: Vec<(u64, u64)>,
}

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceContent {
    Digest([u8; 32]),
    /// The file is large or cannot be read.
    Unread(FileStat),
}

/// The sources and their content.
pub(super) type SourceFiles = BTreeMap<PathBuf, SourceContent>;

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct SourceScan {
    pub(super) files: BTreeMap<PathBuf, (FileStat, SourceContent)>,
    pub(super) folders: BTreeSet<PathBuf>,
}

impl Sources {
    pub(super) fn new(root: PathBuf, others: impl IntoIterator<Item = PathBuf>) -> Self {
        // A plugin that may write to the whole project does not exclude all of it.
        let others = others.into_iter().filter(|other| !root.starts_with(other)).collect();
        let outputs = [io::stdout().as_fd(), io::stderr().as_fd()].map(regular_file);
        Self { root, others, outputs: outputs.into_iter().flatten().collect() }
    }

    /// Whether a file is a source, or a folder may contain some.
    pub(super) fn has(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else { return false };
        let is_allowed = if is_shipped(below) { may_be_shipped } else { may_be_source };
        let allowed = below.ancestors().filter_map(Path::file_name).all(is_allowed);
        allowed && !self.others.iter().any(|other| belongs_to(path, other))
    }

    /// Scans all sources. Files with the same stat as `before` are not read again.
    pub(super) fn scan(&self, before: &SourceScan) -> SourceScan {
        let mut scan = SourceScan::default();
        let mut left = MAX_READ.1;
        walk(
            &self.root,
            |path| !self.has(path) || is_cache(path) && !path.strip_prefix(&self.root).is_ok_and(is_shipped),
            |path, is_folder| {
                if is_folder {
                    scan.folders.insert(path.to_owned());
                    return;
                }
                let Some(stat) = FileStat::of(path).ok().flatten().filter(|_| !self.is_output(path)) else {
                    return;
                };
                let content = match before.files.get(path) {
                    Some((known, content)) if *known == stat => *content,
                    _ => digest(path, &mut left).map_or(SourceContent::Unread(stat), SourceContent::Digest),
                };
                scan.files.insert(path.to_owned(), (stat, content));
            },
        );
        scan
    }

    fn is_output(&self, path: &Path) -> bool {
        let id = || std::fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
        !self.outputs.is_empty() && id().is_ok_and(|id| self.outputs.contains(&id))
    }
}

/// Device and inode of a regular file behind a descriptor; `None` for a terminal or a pipe.
fn regular_file(output: BorrowedFd<'_>) -> Option<(u64, u64)> {
    let metadata = File::from(output.try_clone_to_owned().ok()?).metadata().ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

/// The digest of a file, if its size is within the limits and what is `left` to read.
fn digest(path: &Path, left: &mut u64) -> Option<[u8; 32]> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let max_bytes = MAX_READ.0.min(*left);
    // Opening anything but a regular file may block for ever.
    if !metadata.is_file() || metadata.len() > max_bytes {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(max_bytes + 1).read_to_end(&mut bytes).ok()?;
    let read = bytes.len() as u64;
    *left = left.saturating_sub(read);
    (read <= max_bytes).then(|| Sha256::digest(&bytes).into())
}

/// Whether a path below the project is in one of the folders with files for the component.
fn is_shipped(below: &Path) -> bool {
    FILE_FOLDERS.iter().any(|folder| below.starts_with(folder))
}

fn may_be_shipped(name: &OsStr) -> bool {
    !is_hidden_or_temporary(name)
}

fn may_be_source(name: &OsStr) -> bool {
    !is_no_source(name) && !EXCLUDED_FOLDERS.iter().any(|excluded| name == *excluded)
}

/// Whether `path` is `other`, is below it, or is a rotated file of it, as `audit.jsonl.1` is of `audit.jsonl`.
fn belongs_to(path: &Path, other: &Path) -> bool {
    let is_rotated = || {
        let [name, of] = [path, other].map(|path| path.file_name().map(OsStr::as_encoded_bytes));
        let suffix = name.zip(of).and_then(|(name, of)| name.strip_prefix(of));
        path.parent() == other.parent() && suffix.is_some_and(|suffix| suffix.starts_with(b"."))
    };
    path.starts_with(other) || is_rotated()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_no_source() {
        let others = ["/p/out/tool.bin", "/p/data", "/p/logs/audit.jsonl", "/"].map(PathBuf::from);
        let sources = Sources::new("/p".into(), others);
        for path in ["src/lib.rs", "Cargo.toml", "wit/plugin.wit", "targets/x", "out/tool.rs", "database"] {
            assert!(sources.has(&Path::new("/p").join(path)), "{path}");
        }
        for path in [
            "target/release/x.rs",
            "web/node_modules/a.js",
            ".git/HEAD",
            "src/.lib.rs.swp",
            "src/lib.rs~",
            "src/#lib.rs#",
            "src/4913",
            "plugport.toml",
            "plugin.wasm",
            "plugin.wasm.minisig",
            "out/tool.bin",
            "data/note",
            "logs/audit.jsonl.1",
        ] {
            assert!(!sources.has(&Path::new("/p").join(path)), "{path}");
        }
        assert!(!sources.has(Path::new("/q/src/lib.rs")));
    }

    #[test]
    fn all_that_goes_into_the_component_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for file in ["target/CACHEDIR.TAG", "target/x.wasm", "plugport.toml", "x.o", "SKILL.md", "x.swp"] {
            let file = root.join("skills/a").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
        let seen = Sources::new(root.to_owned(), []).scan(&SourceScan::default());
        let files: Vec<_> = seen.files.keys().map(|path| path.strip_prefix(root).unwrap()).collect();
        let expected = ["SKILL.md", "plugport.toml", "target/CACHEDIR.TAG", "target/x.wasm", "x.o"];
        assert_eq!(files, expected.map(|name| Path::new("skills/a").join(name)));
    }

    #[test]
    fn sources_are_found_with_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["src/deep", "target/x", "built/release"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in
            ["src/deep/a.rs", "target/x/b.rs", "Cargo.toml", "built/CACHEDIR.TAG", "built/release/c.d"]
        {
            std::fs::write(root.join(file), "x").unwrap();
        }
        let seen = Sources::new(root.to_owned(), []).scan(&SourceScan::default());
        let files: Vec<_> = seen.files.keys().map(|path| path.strip_prefix(root).unwrap()).collect();
        assert_eq!(files, [Path::new("Cargo.toml"), Path::new("src/deep/a.rs")]);
        assert_eq!(seen.folders.len(), 3);
    }

    #[test]
    fn what_is_written_again_is_the_same_and_what_is_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let sources = Sources::new(dir.path().to_owned(), []);
        let (small, large) = (dir.path().join("a.rs"), dir.path().join("b.bin"));
        std::fs::write(&small, "one").unwrap();
        std::fs::write(&large, vec![0; MAX_READ.0 as usize + 1]).unwrap();
        let first = sources.scan(&SourceScan::default());
        std::fs::remove_file(&small).unwrap();
        std::fs::write(&small, "one").unwrap();
        let again = sources.scan(&first);
        assert_ne!(first.files[&small].0, again.files[&small].0, "it is another file");
        assert_eq!(first.files[&small].1, again.files[&small].1, "with the same in it");
        std::fs::write(&small, "two").unwrap();
        assert_ne!(again.files[&small].1, sources.scan(&again).files[&small].1);
        assert!(matches!(again.files[&large].1, SourceContent::Unread(_)));
        let mut left = 2;
        assert_eq!((digest(&small, &mut left), left), (None, 2));
    }

    #[test]
    fn what_this_program_writes_itself_is_no_source() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dev.err");
        let file = File::create(&path).unwrap();
        let mut sources = Sources::new(dir.path().to_owned(), []);
        sources.outputs = regular_file(file.as_fd()).into_iter().collect();
        assert!(sources.scan(&SourceScan::default()).files.is_empty());
        sources.outputs.clear();
        assert_eq!(sources.scan(&SourceScan::default()).files.len(), 1);
        assert_eq!(regular_file(std::os::unix::net::UnixStream::pair().unwrap().0.as_fd()), None);
    }
}
