//! The files of the table, and the paths that cargo has to watch for them. A test of the crate reads this file too: it
//! checks that no file is missing that cargo does not watch for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The SDKs that are one folder each.
const SDKS: [&str; 4] = ["c", "go", "python", "typescript"];

/// The parts of the Rust SDK that a project needs; its manifests are rewritten.
const RUST_SDK: [&str; 5] = ["README.md", "src", "wit", "macros/README.md", "macros/src"];

/// Folders of build output and installed packages.
const OUTPUT_FOLDERS: [&str; 5] = ["target", "node_modules", "__pycache__", "dist", "build"];

/// Folders of tests, which a project that uses an SDK does not need. A template's tests are the project's own.
const TESTS: [&str; 2] = ["test", "tests"];

/// Suffixes of build output.
const OUTPUT_SUFFIXES: [&str; 6] = [".wasm", ".pyc", ".egg-info", ".tgz", ".test", ".out"];

/// Files by their names in the table.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, PathBuf>,
    pub(crate) watched: BTreeSet<PathBuf>,
    without_tests: bool,
}

impl Tree {
    /// All files that are embedded unchanged.
    pub(crate) fn of(repository: &Path) -> Result<Self> {
        let guest = repository.join("sdk-guest");
        let mut tree = Self::default();
        tree.file("LICENSE", &repository.join("LICENSE"))?;
        tree.folder("wit", &repository.join("wit"))?;
        tree.folder("templates", &guest.join("templates"))?;
        for sdk in SDKS {
            tree.without_tests().folder(&format!("sdk/{sdk}"), &guest.join(sdk))?;
        }
        for part in RUST_SDK {
            tree.without_tests().any(&format!("sdk/rust/sdk-guest/{part}"), &guest.join(part))?;
        }
        Ok(tree)
    }

    /// Excludes tests from the next folder.
    fn without_tests(&mut self) -> &mut Self {
        self.without_tests = true;
        self
    }

    /// Adds a file.
    fn file(&mut self, name: &str, file: &Path) -> Result<()> {
        self.watched.insert(file.to_owned());
        self.files.insert(name.to_owned(), file.canonicalize()?);
        Ok(())
    }

    /// Adds a folder or a file.
    fn any(&mut self, name: &str, path: &Path) -> Result<()> {
        if path.is_dir() { self.folder(name, path) } else { self.file(name, path) }
    }

    /// Adds a folder, if it exists.
    fn folder(&mut self, name: &str, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            self.walk(name, folder)?;
        }
        self.without_tests = false;
        Ok(())
    }

    /// Adds the files of a folder. Returns whether it added all of them, and then cargo can watch the folder as a
    /// whole. Cargo checks every file of a watched folder, so a folder with build output is watched file by file:
    /// otherwise every build of an SDK would cause one of this crate. An SDK has build output as soon as its tests have
    /// run, so it is watched file by file from the start. Cargo does not notice new files in such a folder; a test
    /// does.
    fn walk(&mut self, name: &str, folder: &Path) -> Result<bool> {
        let mut whole = true;
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let part = path.file_name().and_then(|name| name.to_str()).ok_or("a file's name is not UTF-8")?;
            let below = format!("{name}/{part}");
            if self.is_excluded(part, &path) {
                whole = false;
            } else if path.is_dir() {
                whole &= self.walk(&below, &path)?;
            } else {
                self.file(&below, &path)?;
            }
        }
        if whole && !self.without_tests {
            self.watched.insert(folder.to_owned());
        }
        Ok(whole)
    }

    fn is_excluded(&self, part: &str, path: &Path) -> bool {
        let folder =
            path.is_dir() && (OUTPUT_FOLDERS.contains(&part) || self.without_tests && TESTS.contains(&part));
        folder || part.starts_with('.') || OUTPUT_SUFFIXES.iter().any(|end| part.ends_with(end))
    }
}
