//! Walks through a project's folders, as far as anyone would have written them by hand.

use std::path::{Path, PathBuf};

/// Files and folders that are looked at; a project has far fewer.
const MOST: usize = 50_000;

/// Shows every file and folder below `root`, but for those that are left out. Folders behind links are not entered:
/// they may lead back.
pub(super) fn walk(root: &Path, left_out: impl Fn(&Path) -> bool, mut each: impl FnMut(&Path, bool)) {
    let mut pending: Vec<PathBuf> = vec![root.to_owned()];
    let mut seen = 0_usize;
    while let Some(folder) = pending.pop() {
        // One that cannot be read, or is gone by now, has nothing in it.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        each(&folder, true);
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST {
                return;
            }
            let path = entry.path();
            if left_out(&path) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                Ok(_) => each(&path, false),
                Err(_) => {}
            }
        }
    }
}

/// Whether its name begins with a dot.
pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}
