//! The sources of a plugin in Python, which a build reads and `plugport dev` gives to a component as data.
//!
//! The tests of a project are left out, and so are virtual environments and the SDK.

use std::path::{Path, PathBuf};

/// Folders without sources of the plugin.
const SKIPPED: [&str; 5] = ["plugport_sdk", "tests", "test", "node_modules", "__pycache__"];

/// The sources of the plugin below a folder.
pub(crate) fn sources(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    find_sources(root, &mut files);
    files.sort();
    files
}

fn find_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links to folders are not followed, since they may lead in circles.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if has_sources(&path, &name) {
                find_sources(&path, files);
            }
        } else if is_source(&name) && path.is_file() {
            files.push(path);
        }
    }
}

/// Whether a file belongs to `sources`, by its path.
pub(crate) fn is_python_source(root: &Path, file: &Path) -> bool {
    let named = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut folders = file.ancestors().skip(1).take_while(|folder| *folder != root);
    let is_below = file.starts_with(root) && folders.all(|folder| has_sources(folder, &named(folder)));
    is_below && is_source(&named(file))
}

fn has_sources(folder: &Path, name: &str) -> bool {
    !name.starts_with('.') && !SKIPPED.contains(&name) && !folder.join("pyvenv.cfg").exists()
}

fn is_source(name: &str) -> bool {
    let is_test = name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py";
    name.ends_with(".py") && !is_test
}
