//! The files of `skills/` and `ui/` beside the sources, which `build` puts into the component.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use plugport_common::{FILE_FOLDERS, MAX_FILE, ShippedFile, ShippedFilesError, append_file, shipped_files};

use super::sections::{SectionError, without_files};
use crate::project::source_names::is_hidden_or_temporary;

/// Maximum number of files and folders that are looked at: a component may have far fewer files.
const MAX_ENTRIES: usize = 2_000;

/// Why the files of a project cannot be shipped.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
    #[error("cannot read {}; make it readable", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{} is neither a file nor a folder; replace it by a file", .0.display())]
    NoFile(PathBuf),
    #[error("{} has more than {MAX_ENTRIES} files and folders; remove some", .0.display())]
    TooMany(PathBuf),
    #[error(transparent)]
    Section(#[from] SectionError),
    #[error("the plugin {0}; mend it in skills/ and ui/")]
    Rejected(#[from] ShippedFilesError),
}

/// The component with the files of this project instead of those that it has, except hidden and temporary ones.
pub(super) fn ship(root: &Path, component: Vec<u8>) -> Result<Vec<u8>, FilesError> {
    let files = find(root)?;
    if files.is_empty() {
        // What a build of the project's own wrote stays.
        return Ok(component);
    }
    let mut component = without_files(&component)?;
    for (path, contents) in &files {
        append_file(&mut component, ShippedFile { path, contents })?;
    }
    shipped_files(&component)?;
    Ok(component)
}

/// The files, each with its path below the project and its contents.
fn find(root: &Path) -> Result<Vec<(String, Vec<u8>)>, FilesError> {
    let mut files = Vec::new();
    let mut seen = 0_usize;
    let mut pending = Vec::new();
    for folder in FILE_FOLDERS.map(|folder| root.join(folder)) {
        match std::fs::symlink_metadata(&folder) {
            Ok(about) if about.is_dir() => pending.push(folder),
            // A link may lead out of the project.
            Ok(about) if about.is_symlink() => return Err(FilesError::NoFile(folder)),
            // A file of this name is the project's own.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(FilesError::Unreadable(folder, error)),
        }
    }
    while let Some(folder) = pending.pop() {
        let unreadable = |error| FilesError::Unreadable(folder.clone(), error);
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(FilesError::TooMany(folder));
            }
            if is_hidden_or_temporary(&entry.file_name()) {
                continue;
            }
            let path = entry.path();
            match entry.file_type().map_err(unreadable)? {
                kind if kind.is_dir() => pending.push(path),
                kind if kind.is_file() => files.push(read(root, path)?),
                // A link may lead out of the project.
                _ => return Err(FilesError::NoFile(path)),
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read(root: &Path, path: PathBuf) -> Result<(String, Vec<u8>), FilesError> {
    let unreadable = |error| FilesError::Unreadable(path.clone(), error);
    let mut contents = Vec::new();
    // One byte more than is allowed, so that a larger file is rejected as one.
    let max = MAX_FILE as u64 + 1;
    File::open(&path).map_err(unreadable)?.take(max).read_to_end(&mut contents).map_err(unreadable)?;
    let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
    Ok((below, contents))
}

#[cfg(test)]
mod tests {
    use wasm_encoder::Component;

    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        dir
    }

    fn empty() -> Vec<u8> {
        Component::new().finish()
    }

    #[test]
    fn what_lies_beside_the_sources_is_in_the_component_once() {
        let files = [
            ("skills/a/SKILL.md", "1"),
            ("skills/a/.hidden", "x"),
            ("skills/a/SKILL.md~", "x"),
            ("skills/a/__pycache__/x.pyc", "x"),
            ("ui/t.html", "2"),
            ("src/x.rs", "x"),
            ("README.md", "x"),
        ];
        let dir = project(&files);
        let once = ship(dir.path(), empty()).unwrap();
        let shipped = shipped_files(&once).unwrap();
        let shipped: Vec<_> = shipped.iter().map(|file| (file.path, file.contents)).collect();
        assert_eq!(shipped, [("skills/a/SKILL.md", &b"1"[..]), ("ui/t.html", b"2")]);
        assert_eq!(ship(dir.path(), once.clone()).unwrap(), once, "the same again");
        assert!(wasmparser::validate(&once).is_ok());
        let none = project(&[]);
        assert_eq!(ship(none.path(), once.clone()).unwrap(), once);
    }

    #[test]
    fn what_no_component_may_have_fails_the_build() {
        let fault = |dir: &tempfile::TempDir| ship(dir.path(), empty()).unwrap_err().to_string();
        assert!(fault(&project(&[("skills/a b/SKILL.md", "")])).contains("the part `a b`"));
        assert!(fault(&project(&[("ui/a.html", &"x".repeat(MAX_FILE + 1))])).contains("more than 2 MiB"));
        assert!(fault(&project(&[("ui/a.html", ""), ("ui/A.html", "")])).contains("two files"));
        let linked = project(&[("ui/a.html", "")]);
        std::os::unix::fs::symlink("/etc/hostname", linked.path().join("ui/b.html")).unwrap();
        assert!(fault(&linked).contains("neither a file nor a folder"));
        let linked = project(&[("elsewhere/a.html", "")]);
        std::os::unix::fs::symlink("elsewhere", linked.path().join("ui")).unwrap();
        assert!(fault(&linked).contains("neither a file nor a folder"));
    }
}
