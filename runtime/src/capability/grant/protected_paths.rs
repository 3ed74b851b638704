//! Places of the host that a grant must not lead to, or not in full: what decides what is served, and what holds keys.
//! `config` knows them and hands them to whatever reads a grant; what follows for a directory is the policy of
//! `filesystem`.

use std::path::{Component, Path, PathBuf};

/// Places with rules of their own, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// The plugin folder, the configuration and the audit: whoever writes there decides what is served, or what is
    /// known.
    pub folders: Vec<PathBuf>,
    /// The state folder, and where those of this person's other servers are: whoever reads there learns what other
    /// plugins keep.
    pub states: Vec<PathBuf>,
    /// Where this person's servers and commands keep compiled code: whoever writes there decides what they run.
    pub caches: Vec<PathBuf>,
    /// The home directory of the user who runs the server.
    pub home: Option<PathBuf>,
}

impl ProtectedPaths {
    /// What no guest may even read, with keys in it.
    pub(crate) fn unreadable_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.states.iter().chain(&self.caches)
    }

    /// As far as it lies below a directory.
    pub(crate) fn unreadable_below(&self, host: &Path) -> Vec<PathBuf> {
        self.unreadable_paths().filter(|path| path.starts_with(host)).cloned().collect()
    }
}

/// The place that a path means, links and `..` resolved as far as it exists already.
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
