//! Which directories of the host no plugin may have, whoever grants them, and what a guest's path looks like.
//!
//! Decided on the resolved path, so that links cannot change the answer. Used where the operator's grants are read and where a
//! client names its roots.

use std::path::{Component, Path, PathBuf};

/// Folders whose contents give away or change the machine itself: `/proc/self/environ` alone holds every secret of
/// this process.
const NEVER: &[&str] = &["/", "/proc", "/sys", "/dev", "/etc"];

/// Places with rules of their own, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// The plugin folder, the configuration and the audit: whoever writes there decides what is served, or what is known.
    pub folders: Vec<PathBuf>,
    /// The state folder, and where those of this person's other servers are: whoever reads there learns what other plugins keep.
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

/// Why no plugin may have this directory, if there is a reason.
pub(crate) fn why_forbidden(host: &Path, write: bool, protected: &ProtectedPaths) -> Option<String> {
    if let Some(root) = forbidden_root(host) {
        return Some(format!("{root} is never granted"));
    }
    if protected.states.iter().any(|state| host.starts_with(state)) {
        return Some("the state folder holds what other plugins keep, and keys".to_owned());
    }
    if protected.caches.iter().any(|cache| host.starts_with(cache)) {
        return Some("it holds compiled code, which `plugport` runs as it is, and its key".to_owned());
    }
    if protected.folders.iter().any(|folder| host.starts_with(folder)) {
        return Some("the folder of the plugins is the server's own".to_owned());
    }
    if protected.home.as_ref().is_some_and(|home| home.starts_with(host)) {
        return Some("it holds a whole home directory, with keys and passwords".to_owned());
    }
    let holds = |path: &PathBuf| path.starts_with(host);
    let touched = write && protected.folders.iter().chain(protected.unreadable_paths()).any(holds);
    touched.then(|| {
        "writing there could publish plugins, or change the configuration or compiled code".to_owned()
    })
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

/// The forbidden root that `path` is or lies below. `/` itself is refused, not what is below it.
pub(crate) fn forbidden_root(path: &Path) -> Option<&'static str> {
    NEVER.iter().copied().find(|root| match *root {
        "/" => path == Path::new("/"),
        root => path.starts_with(root),
    })
}

/// Whether a guest's path is absolute and plain. By its text: two spellings of one path, such as `/a` and `//a`, would be two grants.
pub(crate) fn is_guest_path(guest: &str) -> bool {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
    guest.strip_prefix('/').is_some_and(|names| names.split('/').all(plain))
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

    #[test]
    fn guest_paths_are_absolute_and_plain() {
        for good in ["/data", "/a/b"] {
            assert!(is_guest_path(good), "{good}");
        }
        for bad in ["data", "/", "/a/../b", "/a/", "", ".", "//a", "/a//b", "/a/./b", "/a\x1b"] {
            assert!(!is_guest_path(bad), "{bad}");
        }
    }
}
