//! The folder `.plugport-dev` in a project: the last build, the served plugin and its approval. Git ignores the folder,
//! and it can be deleted at any time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::built_file::{BuiltFileError, is_core};
use crate::atomic_write::atomic_write;

/// Its name.
const NAME: &str = ".plugport-dev";

/// The file that `plugport build` writes for the project in `root`.
pub(super) fn built(root: &Path) -> PathBuf {
    root.join(NAME).join("built.wasm")
}

/// The file for the sources that the built component loads as data.
pub(super) fn built_sources(root: &Path) -> PathBuf {
    root.join(NAME).join("built.sources")
}

/// The sources that the last build wrote, if it wrote any.
pub(super) fn read_built_sources(root: &Path) -> Result<Vec<u8>, WorkdirError> {
    let file = built_sources(root);
    match std::fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| WorkdirError::UnreadableSources(file, error)),
    }
}

/// Why a component could not be served.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkdirError {
    #[error("cannot write to {}; make it writable, or delete it", .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
    #[error(
        "cannot read {}, which the build should have made; name what it makes with --output FILE.wasm",
        .0.display()
    )]
    NotMade(PathBuf, #[source] io::Error),
    #[error("cannot read {}; delete it, and save a source again", .0.display())]
    UnreadableSources(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Output(#[from] BuiltFileError),
}

/// The folder of one project.
#[derive(Debug, Clone)]
pub(super) struct Workdir {
    pub(super) folder: PathBuf,
    /// The plugin folder of the server.
    pub(super) plugins: PathBuf,
    /// The file with the sources that the served component loads as data.
    pub(super) sources: PathBuf,
    /// Whether `put` failed: its files may be newer than what the server has loaded.
    is_behind: Arc<AtomicBool>,
}

impl Workdir {
    pub(super) fn make(root: &Path) -> Result<Self, WorkdirError> {
        let folder = root.join(NAME);
        let plugins = folder.join("plugins");
        let unwritable = |error| WorkdirError::Unwritable(folder.clone(), error);
        std::fs::create_dir_all(&plugins).map_err(unwritable)?;
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(ignore, "*\n").map_err(unwritable)?;
        }
        Ok(Self { sources: folder.join("served.sources"), folder, plugins, is_behind: Arc::default() })
    }

    /// Whether there is anything to serve.
    pub(super) fn is_empty(&self) -> bool {
        self.served().next().is_none()
    }

    /// Serves a copy of `file` as the plugin `name`, instead of the previous component, with these sources as data.
    /// Returns whether anything has changed.
    pub(super) fn put(&self, file: &Path, name: &str, sources: &[u8]) -> Result<bool, WorkdirError> {
        let bytes = std::fs::read(file).map_err(|error| WorkdirError::NotMade(file.to_owned(), error))?;
        if is_core(&bytes) {
            return Err(BuiltFileError::Core(file.to_owned()).into());
        }
        let target = self.plugins.join(format!("{name}.wasm"));
        let is_served = |path: &Path, bytes: &[u8]| std::fs::read(path).is_ok_and(|served| served == bytes);
        let has_sources = is_served(&self.sources, sources) || (sources.is_empty() && !self.sources.exists());
        // Until all is written.
        let was_behind = self.is_behind.swap(true, Ordering::Relaxed);
        let new = was_behind || !has_sources || !is_served(&target, &bytes);
        let put = || -> io::Result<()> {
            if !has_sources {
                atomic_write(&self.sources, sources)?;
            }
            if new {
                // Also for new sources: the server loads a plugin when its component is replaced.
                atomic_write(&target, &bytes)?;
            }
            // The plugin may have had another name before, under which it would be served too.
            self.served().filter(|served| *served != target).try_for_each(std::fs::remove_file)
        };
        put().map_err(|error| WorkdirError::Unwritable(self.plugins.clone(), error))?;
        self.is_behind.store(false, Ordering::Relaxed);
        Ok(new)
    }

    fn served(&self) -> impl Iterator<Item = PathBuf> {
        let entries = std::fs::read_dir(&self.plugins).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| {
            let hidden = super::walk::is_hidden(path);
            !hidden && path.extension().is_some_and(|extension| extension == "wasm")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_are_not_there_are_empty_and_others_are_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_built_sources(dir.path()).unwrap(), b"");
        std::fs::create_dir_all(built_sources(dir.path())).unwrap();
        assert!(read_built_sources(dir.path()).unwrap_err().to_string().contains("delete it"));
    }

    #[test]
    fn one_plugin_is_served_under_its_present_name() {
        let dir = tempfile::tempdir().unwrap();
        let workdir = Workdir::make(dir.path()).unwrap();
        assert!(workdir.is_empty() && Workdir::make(dir.path()).is_ok());
        let built = dir.path().join("built");
        let put = |name: &str, sources: &str| workdir.put(&built, name, sources.as_bytes());
        assert!(put("a", "").unwrap_err().to_string().contains("--output"));
        std::fs::write(&built, b"\0asm\x01\0\0\0").unwrap();
        assert!(put("a", "").unwrap_err().to_string().contains("wasm32-wasip2"));
        std::fs::write(&built, "1").unwrap();
        assert!(put("a", "").unwrap());
        assert!(!put("a", "").unwrap(), "the same again");
        assert!(put("a", "source").unwrap() && !put("a", "source").unwrap());
        assert_eq!(std::fs::read_to_string(&workdir.sources).unwrap(), "source");
        std::fs::write(&built, "2").unwrap();
        assert!(put("b", "").unwrap() && !put("b", "").unwrap());
        let served = workdir.plugins.join("b.wasm");
        std::fs::remove_file(&served).unwrap();
        std::fs::create_dir(&served).unwrap();
        assert!(put("b", "source").is_err());
        std::fs::remove_dir(&served).unwrap();
        std::fs::write(&served, "2").unwrap();
        assert!(put("b", "source").unwrap(), "the server has not loaded the source");
        assert!(!put("b", "source").unwrap());
        let files: Vec<_> =
            std::fs::read_dir(&workdir.plugins).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files, [workdir.plugins.join("b.wasm")]);
        assert_eq!(std::fs::read_to_string(workdir.folder.join(".gitignore")).unwrap(), "*\n");
    }
}
