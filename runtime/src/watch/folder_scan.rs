//! Which files of the folder are candidates for plugins. Only names decide; a file's contents are read when it is
//! loaded.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::catalog::plugin_name;

/// A file with the suffix `.wasm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFile {
    /// The file.
    pub path: PathBuf,
    /// Its stem, or why its stem cannot name a plugin.
    pub name: Result<String, String>,
}

impl CandidateFile {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { name: name_of(&path), path }
    }
}

/// The folder could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the plugin folder {}; {}", folder.display(), self.hint())]
pub struct ScanError {
    folder: PathBuf,
    source: std::io::Error,
}

impl ScanError {
    pub(super) fn of(folder: &Path, source: std::io::Error) -> Self {
        Self { folder: folder.to_owned(), source }
    }

    fn hint(&self) -> &'static str {
        match self.source.kind() {
            ErrorKind::NotADirectory => {
                "it is a file: name the folder that it lies in with --plugins, or use `plugport call` to try it alone"
            }
            ErrorKind::NotFound if self.folder.extension().is_some_and(|extension| extension == "wasm") => {
                "there is no such file; name the folder that plugins lie in with --plugins"
            }
            ErrorKind::PermissionDenied => "let this user read it, or name another with --plugins",
            _ => "create it or name another with --plugins",
        }
    }
}

/// Lists the `.wasm` files directly in `folder`, in the order of their names. Files that begin with a dot are ignored:
/// editors and copy programs write to such files first.
///
/// # Errors
/// When the folder cannot be read.
pub fn scan(folder: &Path) -> Result<Vec<CandidateFile>, ScanError> {
    let failed = |source| ScanError::of(folder, source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == "wasm") {
            files.push(CandidateFile::at(path));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The plugin's name, from a file's stem.
pub(crate) fn name_of(path: &Path) -> Result<String, String> {
    let stem =
        path.file_stem().and_then(|stem| stem.to_str()).ok_or("its name is not valid UTF-8; rename it")?;
    match plugin_name(stem) {
        Ok(name) => Ok(name.to_owned()),
        Err(error) => Err(format!("{error}; rename the file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wasm_files_are_candidates_and_bad_names_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["b.wasm", "a.wasm", ".hidden.wasm", "notes.txt", "c.wasm~", "bad name.wasm"] {
            std::fs::write(dir.path().join(file), b"").unwrap();
        }
        let files = scan(dir.path()).unwrap();
        let names: Vec<_> = files.iter().map(|candidate| candidate.name.as_deref().ok()).collect();
        assert_eq!(names, [Some("a"), Some("b"), None]);
        let told = |path: &str| scan(&dir.path().join(path)).unwrap_err().to_string();
        assert!(told("none").contains("create it or name another with --plugins"), "{}", told("none"));
        assert!(
            told("none.wasm").contains("there is no such file; name the folder"),
            "{}",
            told("none.wasm")
        );
        assert!(told("a.wasm").contains("it is a file: name the folder"), "{}", told("a.wasm"));
    }
}
