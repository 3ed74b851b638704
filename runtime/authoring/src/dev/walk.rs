//! Walks through a project's folders, up to a number of files that no author would write by hand.

use std::path::{Path, PathBuf};

/// Maximum number of files and folders; a project has far fewer.
const MAX_ENTRIES: usize = 50_000;

/// Passes every file and folder below `root` to `each`, except excluded ones. Symbolic links to folders are not
/// followed, since they may lead back.
pub(super) fn walk(root: &Path, is_excluded: impl Fn(&Path) -> bool, mut each: impl FnMut(&Path, bool)) {
    let mut pending: Vec<PathBuf> = vec![root.to_owned()];
    let mut seen = 0_usize;
    while let Some(folder) = pending.pop() {
        // A folder that cannot be read, or is gone by now, counts as empty.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        each(&folder, true);
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return;
            }
            let path = entry.path();
            if is_excluded(&path) {
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
