//! Which directories of the host no plugin may have, and what a guest's path looks like.
//!
//! The directories that the operator grants and the roots that a client names are both checked here, on the resolved
//! path, so that links cannot change the decision.

use std::path::{Path, PathBuf};

use crate::capability::grant_trait::ProtectedPaths;

/// Folders whose contents give away or change the machine itself: `/proc/self/environ` alone holds every secret of
/// this process.
const FORBIDDEN_ROOTS: &[&str] = &["/", "/proc", "/sys", "/dev", "/etc"];

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
    let writes_protected = write && protected.folders.iter().chain(protected.unreadable_paths()).any(holds);
    writes_protected.then(|| {
        "writing there could publish plugins, or change the configuration or compiled code".to_owned()
    })
}

/// The forbidden root that `path` is or lies below. Of `/`, only the directory itself is forbidden.
pub(crate) fn forbidden_root(path: &Path) -> Option<&'static str> {
    FORBIDDEN_ROOTS.iter().copied().find(|root| match *root {
        "/" => path == Path::new("/"),
        root => path.starts_with(root),
    })
}

/// Whether a guest's path is absolute and has one spelling only: two spellings of one path, such as `/a` and `//a`,
/// would be two grants.
pub(crate) fn is_guest_path(guest: &str) -> bool {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
    guest.strip_prefix('/').is_some_and(|names| names.split('/').all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

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
