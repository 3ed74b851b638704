//! Paths of the host that a grant must not lead to, or not in full: files that decide what is served, and folders with
//! keys. `config` knows them and hands them to the functions that read grants. What follows for a directory is the
//! policy of `filesystem`.

use std::path::{Component, Path, PathBuf};

/// Paths with rules of their own, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// The plugin folder, the configuration, the lockfile and the audit: a guest that writes there decides what is
    /// served or what is recorded.
    pub folders: Vec<PathBuf>,
    /// The state folder, and the folders with those of this user's other servers: a guest that reads there learns what
    /// other plugins store.
    pub states: Vec<PathBuf>,
    /// The folders where this user's servers and commands have compiled code: a guest that writes there decides what
    /// they run.
    pub caches: Vec<PathBuf>,
    /// The home directory of the user who runs the server.
    pub home: Option<PathBuf>,
}

impl ProtectedPaths {
    /// The paths that no guest may even read, since they hold keys.
    pub(crate) fn unreadable_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.states.iter().chain(&self.caches)
    }

    /// Those of the unreadable paths that lie below a directory.
    pub(crate) fn unreadable_below(&self, host: &Path) -> Vec<PathBuf> {
        self.unreadable_paths().filter(|path| path.starts_with(host)).cloned().collect()
    }
}

/// A path with links and `..` resolved, as far as it exists already.
pub(crate) fn resolved(path: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
        whole = whole.canonicalize().unwrap_or(whole);
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_yet_is_still_the_place_it_means() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        assert_eq!(resolved(&root.join("a/../b/../c/state")), Some(root.join("c/state")));
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
        assert_eq!(resolved(&root.join("link/state")), Some(root.join("a/state")));
    }
}
