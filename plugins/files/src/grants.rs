//! What the operator granted, and what a path means in it. The sandbox opens nothing outside whatever is done here;
//! this is for the sentence that a model gets: where it may look, or that only the operator can help.

use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(
        "no directory is granted to this plugin; only the operator of the server can grant one, and its log says how"
    )]
    NothingGranted,
    #[error("`{0}` is outside the granted directories; give a path below {1}")]
    Outside(String, String),
    #[error("`{0}` cannot be opened ({1}); `list` and `find` show what can be")]
    Unopened(String, io::Error),
    #[error("`{0}` is {1}")]
    NotText(String, &'static str),
    #[error("the file has {0} lines; give a start_line and an end_line among them")]
    Lines(usize),
    #[error("the pattern cannot be searched for: {0}")]
    Pattern(#[from] grep_regex::Error),
    #[error("{0}; write a glob such as `*.rs` or `src/**/*.ts`")]
    Glob(#[from] globset::Error),
}

/// The plain absolute path that is meant, if it is granted.
pub(crate) fn resolve(path: &str) -> Result<PathBuf, FileError> {
    let granted = granted()?;
    let base = if let [only] = granted.as_slice() { only } else { Path::new("/") };
    let plain = plain(&base.join(path)).filter(|path| granted.iter().any(|dir| path.starts_with(dir)));
    plain.ok_or_else(|| {
        let names: Vec<_> = granted.iter().map(|dir| format!("`{}`", dir.display())).collect();
        FileError::Outside(path.to_owned(), names.join(", "))
    })
}

/// Where to look: below `path`, or in all that is granted.
pub(crate) fn roots(path: Option<&str>) -> Result<Vec<PathBuf>, FileError> {
    let Some(path) = path else { return granted() };
    let root = resolve(path)?;
    root.metadata().map_err(|error| FileError::Unopened(path.to_owned(), error))?;
    Ok(vec![root])
}

/// The path without `.` and `..`; nothing when it climbs above the root.
fn plain(path: &Path) -> Option<PathBuf> {
    path.components().try_fold(PathBuf::new(), |plain, part| match part {
        Component::CurDir => Some(plain),
        Component::ParentDir => plain.parent().map(Path::to_owned),
        other => Some(plain.join(other)),
    })
}

fn granted() -> Result<Vec<PathBuf>, FileError> {
    let dirs = preopened();
    if dirs.is_empty() {
        // A plugin that has no directory is denied nothing, so the server says nothing of it; but what is written here
        // goes to the server's log and nowhere else.
        let _ = writeln!(
            io::stderr(),
            "to grant a directory, write under [plugins.files.grants]: dirs = [\"./data\"]"
        );
        return Err(FileError::NothingGranted);
    }
    Ok(dirs)
}

#[cfg(not(test))]
fn preopened() -> Vec<PathBuf> {
    wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path.into()).collect()
}

#[cfg(test)]
use crate::tests::preopened;
