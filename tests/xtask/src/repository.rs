//! The paths of this repository. The commands take no paths, so only this module knows them. Names of plugins and
//! guests are read from their folders.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use crate::run_command::{Failure, Outcome};

/// The folder that holds the root `Cargo.toml`.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The repository that this program was compiled in.
    pub(crate) fn here() -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: package.ancestors().nth(2).unwrap_or(package).to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo workspace of the example plugins.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The cargo package of the test guests.
    pub(crate) fn guests(&self) -> PathBuf {
        self.root.join("tests/guests")
    }

    /// A folder in `target/`. Components go there even when `CARGO_TARGET_DIR` points elsewhere: documents and tests
    /// name these paths.
    pub(crate) fn target(&self, name: &str) -> PathBuf {
        self.root.join("target").join(name)
    }

    /// `path` as a person at the root would write it.
    pub(crate) fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Every plugin: a folder in `plugins/` with a manifest.
    pub(crate) fn plugin_names(&self) -> Outcome<BTreeSet<String>> {
        names(&self.plugins(), |entry| {
            let path = entry.path();
            path.join("Cargo.toml").is_file().then(|| text(path.file_name())).flatten()
        })
    }

    /// Every project of a plugin or an SDK, in whatever language.
    pub(crate) fn projects(&self) -> Outcome<Vec<PathBuf>> {
        let mut projects = Vec::new();
        for folder in ["sdk-guest", "plugins", "tests/guests/languages"] {
            projects.extend(self.projects_in(&self.root.join(folder))?);
        }
        Ok(projects)
    }

    /// The folders in a folder, in order; none where there is no such folder.
    pub(crate) fn projects_in(&self, folder: &Path) -> Outcome<Vec<PathBuf>> {
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let found = names(folder, |entry| {
            let path = entry.path();
            path.is_dir().then(|| text(path.file_name())).flatten()
        })?;
        Ok(found.iter().map(|name| folder.join(name)).collect())
    }

    /// Every test guest that is written with the SDK: a file in `tests/guests/examples/`.
    pub(crate) fn guest_names(&self) -> Outcome<BTreeSet<String>> {
        names(&self.guests().join("examples"), |entry| {
            let path = entry.path();
            (path.extension() == Some(OsStr::new("rs"))).then(|| text(path.file_stem())).flatten()
        })
    }

    /// The cargo workspace of the test guests that know nothing of MCP.
    pub(crate) fn function_guests(&self) -> PathBuf {
        self.guests().join("functions")
    }

    /// Every such guest: a folder in `tests/guests/functions/`, with `functions-` before its name.
    pub(crate) fn function_guest_names(&self) -> Outcome<BTreeSet<String>> {
        names(&self.function_guests(), |entry| {
            let path = entry.path();
            let name = path.join("Cargo.toml").is_file().then(|| text(path.file_name())).flatten();
            name.map(|name| format!("functions-{name}"))
        })
    }

    /// Every fuzz target: a file of saved inputs in `tests/fuzz/inputs/`.
    pub(crate) fn fuzz_targets(&self) -> Outcome<BTreeSet<String>> {
        names(&self.root.join("tests/fuzz/inputs"), |entry| text(entry.path().file_stem()))
    }
}

fn names(folder: &Path, name: impl Fn(&DirEntry) -> Option<String>) -> Outcome<BTreeSet<String>> {
    let unreadable = |error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    entries
        .filter_map(|entry| entry.map(|entry| name(&entry)).transpose())
        .collect::<Result<_, _>>()
        .map_err(unreadable)
}

fn text(name: Option<&OsStr>) -> Option<String> {
    name.and_then(OsStr::to_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_the_folder_with_the_aliases() {
        assert!(Repository::here().root().join(".cargo/config.toml").is_file());
    }

    #[test]
    fn plugins_are_the_folders_with_a_manifest() {
        let names = Repository::here().plugin_names().unwrap();
        assert!(names.contains("hello"), "{names:?}");
        assert!(!names.contains("target"), "{names:?}");
    }
}
