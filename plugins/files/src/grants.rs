//! What the operator granted, and what a path means in it. The sandbox opens nothing outside a granted directory
//! whatever is done here; this is for the sentence that a model gets: where it may look, or what the operator must write.

use std::io;
use std::path::{Component, Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(
        "no directory is granted to this plugin; the operator has to add one to plugport.toml:\n\n\
         [plugins.files.grants]\ndirs = [\"./data\"]"
    )]
    NothingGranted,
    #[error("`{0}` is outside the granted directories; give a path below {1}")]
    Outside(String, String),
    #[error("`{0}` is relative and several directories are granted; begin it with one of {1}")]
    Relative(String, String),
    #[error("`{0}` does not exist; `list` and `find` show what does")]
    Missing(String),
    #[error("`{0}` cannot be opened: it may not be read, or is a link that leaves the granted {1}")]
    Denied(String, String),
    #[error("`{0}` is a directory; `list` shows what is in it")]
    Directory(String),
    #[error("`{0}` is not a directory; `read` shows what is in a file")]
    NotDirectory(String),
    #[error("`{0}` is binary ({1} bytes) and cannot be shown as text")]
    Binary(String, usize),
    #[error("`{0}` has {1} bytes; files of more than 8 MiB are not read")]
    TooLarge(String, u64),
    #[error("`{0}` has {1} lines; give a start_line and an end_line among them")]
    Lines(String, usize),
    #[error("the pattern cannot be searched for: {0}")]
    Pattern(#[from] grep_regex::Error),
    #[error("{0}; write a glob such as `*.rs` or `src/**/*.ts`")]
    Glob(#[from] globset::Error),
    #[error("`{0}` cannot be read: {1}")]
    Io(String, io::Error),
}

/// The granted directories, by their paths in the sandbox. There is at least one.
pub(crate) struct Grants(Vec<PathBuf>);

impl Grants {
    pub(crate) fn current() -> Result<Self, FileError> {
        let mut dirs = preopened();
        dirs.sort();
        if dirs.is_empty() { Err(FileError::NothingGranted) } else { Ok(Self(dirs)) }
    }

    /// Where to look: below `path`, or in all that is granted.
    pub(crate) fn roots(&self, path: Option<&str>) -> Result<Vec<PathBuf>, FileError> {
        path.map_or_else(|| Ok(self.0.clone()), |path| Ok(vec![self.resolve(path)?]))
    }

    /// The plain absolute path that is meant, if it is granted.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, FileError> {
        let absolute = match self.0.as_slice() {
            [only] => only.join(path),
            _ if path.starts_with('/') => PathBuf::from(path),
            _ => return Err(FileError::Relative(path.to_owned(), self.names())),
        };
        plain(&absolute)
            .filter(|path| self.0.iter().any(|dir| path.starts_with(dir)))
            .ok_or_else(|| FileError::Outside(path.to_owned(), self.names()))
    }

    /// What a failure at `path` means to a model.
    pub(crate) fn explain(&self, path: &Path, error: io::Error) -> FileError {
        let path = path.display().to_string();
        match error.kind() {
            io::ErrorKind::NotFound => FileError::Missing(path),
            io::ErrorKind::NotADirectory => FileError::NotDirectory(path),
            io::ErrorKind::PermissionDenied => FileError::Denied(path, self.names()),
            _ => FileError::Io(path, error),
        }
    }

    fn names(&self) -> String {
        self.0.iter().map(|dir| format!("`{}`", dir.display())).collect::<Vec<_>>().join(", ")
    }
}

/// The path without `.` and `..`; nothing when it climbs above the root.
fn plain(path: &Path) -> Option<PathBuf> {
    path.components().try_fold(PathBuf::new(), |plain, part| match part {
        Component::CurDir => Some(plain),
        Component::ParentDir => plain.parent().map(Path::to_owned),
        other => Some(plain.join(other)),
    })
}

#[cfg(target_os = "wasi")]
fn preopened() -> Vec<PathBuf> {
    wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path.into()).collect()
}

/// Outside a sandbox nothing is granted but what a test says.
#[cfg(not(target_os = "wasi"))]
fn preopened() -> Vec<PathBuf> {
    #[cfg(test)]
    return crate::tests::GRANTED.with_borrow(Clone::clone);
    #[cfg(not(test))]
    Vec::new()
}
