//! A granted directory with files and links around it that were not granted.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Links in the granted directory that lead out of it, or nowhere.
pub const LINKS: [&str; 9] =
    ["up", "absolute", "folder", "absolute_folder", "twice", "loop", "dangling", "proc", "around"];

/// A granted directory `in` with a file, a folder and links, beside a directory `out` and a canary.
pub struct GrantedDir {
    dir: TempDir,
    before: BTreeMap<PathBuf, String>,
}

impl GrantedDir {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["in/inner", "out/deep"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for (file, text) in [("canary.txt", "canary"), ("out/canary.txt", "canary"), ("in/own.txt", "own")] {
            std::fs::write(dir.path().join(file), text).unwrap();
        }
        let mut granted = Self { dir, before: BTreeMap::new() };
        granted.before = granted.beside();
        granted
    }

    /// A granted directory with links that lead out.
    pub fn with_links() -> Self {
        let granted = Self::new();
        let out = granted.outside().join("out");
        let canary = out.join("canary.txt");
        let targets = [
            Path::new("../canary.txt"),
            &canary,
            Path::new("../out"),
            &out,
            Path::new("folder"),
            Path::new("loop"),
            Path::new("../nothing.txt"),
            Path::new("/proc/self"),
            Path::new("../in/../out"),
        ];
        for (target, name) in targets.into_iter().zip(LINKS) {
            symlink(target, granted.inside().join(name)).unwrap();
        }
        granted
    }

    /// The directory that is granted.
    pub fn inside(&self) -> PathBuf {
        self.dir.path().join("in")
    }

    /// The directory around it.
    pub fn outside(&self) -> &Path {
        self.dir.path()
    }

    /// Asserts that everything outside of the granted directory is unchanged.
    pub fn assert_untouched(&self) {
        assert_eq!(self.beside(), self.before, "something outside the granted directory changed");
    }

    /// All files and directories beside the granted directory, with their contents.
    fn beside(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.dir.path().to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && path != self.inside() {
                    pending.push(path.clone());
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                found.insert(path, text);
            }
        }
        found
    }
}

impl Default for GrantedDir {
    fn default() -> Self {
        Self::new()
    }
}
