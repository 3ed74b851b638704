//! The files that go into the table, and what cargo has to watch for them. A test of the program that they go into
//! reads this file, too: it sees that nothing is missing that cargo was not told to watch for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The SDKs that are one folder each.
const SDKS: [&str; 4] = ["c", "go", "python", "typescript"];

/// What of the Rust SDK a project needs; its manifests are rewritten.
const RUST_SDK: [&str; 5] = ["README.md", "src", "wit", "macros/README.md", "macros/src"];

/// Folders that are built or installed and never written.
const MADE: [&str; 5] = ["target", "node_modules", "__pycache__", "dist", "build"];

/// Folders of tests, which a project that uses an SDK does not need. A template's tests are the project's own.
const TESTS: [&str; 2] = ["test", "tests"];

/// What files that are built end in.
const MADE_ENDS: [&str; 6] = [".wasm", ".pyc", ".egg-info", ".tgz", ".test", ".out"];

/// Files by the names that they have in the table.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, PathBuf>,
    pub(crate) watched: BTreeSet<PathBuf>,
    without_tests: bool,
}

impl Tree {
    /// All that is taken as it is from the repository.
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

    /// Leaves out the tests of what is added next.
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

    /// Adds a folder, or the file that it is.
    fn any(&mut self, name: &str, path: &Path) -> Result<()> {
        if path.is_dir() { self.folder(name, path) } else { self.file(name, path) }
    }

    /// Adds a folder, if it is there.
    fn folder(&mut self, name: &str, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            self.walk(name, folder)?;
        }
        self.without_tests = false;
        Ok(())
    }

    /// Says whether all that is in it was added. Cargo looks through the whole of a folder that it watches, so one in
    /// which things are built is watched file by file, or every build of an SDK would be followed by one of this crate.
    /// A file that is new there is not seen; a test compares.
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
