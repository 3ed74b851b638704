//! The files that go into the table, and what cargo has to watch for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Result;

/// Folders that are built or installed and never written.
const MADE: [&str; 5] = ["target", "node_modules", "__pycache__", "dist", "build"];

/// Folders of tests, which a project that uses an SDK does not need. A template's tests are the project's own.
const TESTS: [&str; 2] = ["test", "tests"];

/// What files that are built end in.
const MADE_ENDS: [&str; 4] = [".wasm", ".pyc", ".egg-info", ".tgz"];

/// Files by the names that they have in the table.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, PathBuf>,
    pub(crate) watched: BTreeSet<PathBuf>,
    without_tests: bool,
}

impl Tree {
    /// Leaves out the tests of what is added next.
    pub(crate) fn without_tests(&mut self) -> &mut Self {
        self.without_tests = true;
        self
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, name: &str, file: &Path) -> Result<()> {
        self.watched.insert(file.to_owned());
        self.files.insert(name.to_owned(), file.canonicalize()?);
        Ok(())
    }

    /// Adds a file that this script has written.
    pub(crate) fn made(&mut self, name: &str, file: &Path) {
        self.files.insert(name.to_owned(), file.to_owned());
    }

    /// Adds a folder, or the file that it is.
    pub(crate) fn any(&mut self, name: &str, path: &Path) -> Result<()> {
        if path.is_dir() { self.folder(name, path) } else { self.file(name, path) }
    }

    /// Adds a folder, if it is there.
    pub(crate) fn folder(&mut self, name: &str, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            self.walk(name, folder)?;
        }
        self.without_tests = false;
        Ok(())
    }

    /// Says whether all that is in it was added. Cargo looks through the whole of a folder that it watches, so one in which
    /// things are built is watched file by file, or every build of an SDK would be followed by one of this crate.
    fn walk(&mut self, name: &str, folder: &Path) -> Result<bool> {
        let mut whole = true;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let part = path.file_name().and_then(|name| name.to_str()).ok_or("a file's name is not UTF-8")?;
            let below = format!("{name}/{part}");
            if self.is_left_out(part, &path) {
                whole = false;
            } else if path.is_dir() {
                whole &= self.walk(&below, &path)?;
            } else {
                self.file(&below, &path)?;
            }
        }
        if whole {
            self.watched.insert(folder.to_owned());
        }
        Ok(whole)
    }

    fn is_left_out(&self, part: &str, path: &Path) -> bool {
        let folder = path.is_dir() && (MADE.contains(&part) || self.without_tests && TESTS.contains(&part));
        folder || part.starts_with('.') || MADE_ENDS.iter().any(|end| part.ends_with(end))
    }
}
