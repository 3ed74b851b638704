//! What an operator lets a plugin reach. Nothing is granted by default, and a grant is parsed once, into a type that
//! can no longer name a folder that must never be granted.

use std::path::{Component, Path, PathBuf};

/// Folders whose contents give away or change the machine itself: `/proc/self/environ` alone holds every secret of
/// this process.
const NEVER: &[&str] = &["/", "/proc", "/sys", "/dev", "/etc"];

/// Everything granted to one plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories, each under a guest path of its own.
    pub dirs: Vec<DirGrant>,
    /// How much it may keep between calls, MiB; nothing when absent.
    pub kv_mib: Option<u64>,
    /// Whether it may ask the client's model.
    pub sampling: bool,
    /// Whether it may ask the person at the client.
    pub elicitation: bool,
    /// Whether it may see the client's roots.
    pub roots: bool,
}

/// What a plugin may keep when nothing else is said, MiB.
pub const KV_MIB: u64 = 16;

/// The most that any plugin may keep, MiB.
pub const KV_MIB_MAX: u64 = 65_536;

/// One directory, as the guest sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirGrant {
    /// Canonical path on the host.
    pub host: PathBuf,
    /// Absolute path in the guest.
    pub guest: String,
    /// Whether the guest may change what is below it.
    pub write: bool,
}

/// Why a directory cannot be granted.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// It is not there, or not a directory.
    #[error("cannot grant {}: {reason}; name a directory that exists", path.display())]
    Missing {
        /// As it was written.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A root that is refused whatever the operator says.
    #[error("cannot grant {}: {why}; grant a directory further down", path.display())]
    Refused {
        /// The resolved path.
        path: PathBuf,
        /// Which rule.
        why: String,
    },
    /// The guest's path is not usable.
    #[error("guest path `{0}` must be absolute and plain, such as /data")]
    GuestPath(String),
    /// Two grants under one guest path.
    #[error("guest path `{0}` is granted twice; give each directory a path of its own")]
    Twice(String),
    /// The short form could not be read.
    #[error("cannot read the grant `{0}`; write dir=HOST, dir=HOST:GUEST or dir=HOST:GUEST:rw")]
    Form(String),
}

impl DirGrant {
    /// Resolves `host` (relative to `base`) and refuses what no plugin may have.
    ///
    /// # Errors
    /// When the directory is missing or is one of the refused roots, when writing there would reach one of `protected`
    /// (the plugin folder and the configuration: a guest could publish tools or grant itself more), or when the guest
    /// path is not absolute.
    pub fn new(
        base: &Path,
        host: &str,
        guest: Option<&str>,
        write: bool,
        protected: &[PathBuf],
    ) -> Result<Self, GrantError> {
        let path = base.join(host);
        let missing = |reason: String| GrantError::Missing { path: path.clone(), reason };
        let host = path.canonicalize().map_err(|error| missing(error.to_string()))?;
        if !host.is_dir() {
            return Err(missing("it is not a directory".to_owned()));
        }
        if let Some(root) = refused_root(&host) {
            return Err(GrantError::Refused { path: host, why: format!("{root} is never granted") });
        }
        let touches = |path: &PathBuf| path.starts_with(&host) || host.starts_with(path);
        if write && protected.iter().any(touches) {
            let why = "writing there could publish plugins or change the configuration".to_owned();
            return Err(GrantError::Refused { path: host, why });
        }
        let guest = match guest {
            Some(guest) => guest.to_owned(),
            None => format!("/{}", host.file_name().unwrap_or_default().to_string_lossy()),
        };
        Ok(Self { host, guest: plain_guest_path(guest)?, write })
    }

    /// Reads `HOST`, `HOST:GUEST` or `HOST:GUEST:rw`, relative to the current directory.
    ///
    /// # Errors
    /// As [`DirGrant::new`], or when the text has another form.
    pub fn parse(text: &str, protected: &[PathBuf]) -> Result<Self, GrantError> {
        let parts: Vec<&str> = text.split(':').collect();
        let base = Path::new("");
        match parts.as_slice() {
            [host] => Self::new(base, host, None, false, protected),
            [host, guest] => Self::new(base, host, Some(guest), false, protected),
            [host, guest, "rw"] => Self::new(base, host, Some(guest), true, protected),
            [host, guest, "ro"] => Self::new(base, host, Some(guest), false, protected),
            _ => Err(GrantError::Form(text.to_owned())),
        }
    }
}

impl Grants {
    /// Adds a directory.
    ///
    /// # Errors
    /// When another directory already has its guest path.
    pub fn add_dir(&mut self, dir: DirGrant) -> Result<(), GrantError> {
        if self.dirs.iter().any(|other| other.guest == dir.guest) {
            return Err(GrantError::Twice(dir.guest));
        }
        self.dirs.push(dir);
        Ok(())
    }
}

/// The place that a path means, links and `..` resolved as far as it exists already.
pub(super) fn resolved(path: &Path) -> Option<PathBuf> {
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

/// The refused root that `path` is or lies below. `/` itself is refused, not what is below it.
fn refused_root(path: &Path) -> Option<&'static str> {
    NEVER.iter().copied().find(|root| match *root {
        "/" => path == Path::new("/"),
        root => path.starts_with(root),
    })
}

fn plain_guest_path(guest: String) -> Result<String, GrantError> {
    let path = Path::new(&guest);
    let mut parts = path.components();
    let absolute = parts.next() == Some(Component::RootDir);
    let plain = parts.clone().count() > 0 && parts.all(|part| matches!(part, Component::Normal(_)));
    if absolute && plain && !guest.ends_with('/') && !guest.contains(['\0', '\n']) {
        return Ok(guest);
    }
    Err(GrantError::GuestPath(guest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_that_hold_the_machine_are_refused() {
        for root in ["/", "/proc", "/proc/self", "/sys", "/dev", "/etc"] {
            let refusal = DirGrant::new(Path::new(""), root, Some("/x"), false, &[]);
            assert!(matches!(refusal, Err(GrantError::Refused { .. })), "{root}: {refusal:?}");
        }
    }

    #[test]
    fn a_link_to_a_refused_root_is_refused_too() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("harmless")).unwrap();
        let refusal = DirGrant::new(dir.path(), "harmless", None, false, &[]);
        assert!(matches!(refusal, Err(GrantError::Refused { .. })), "{refusal:?}");
    }

    #[test]
    fn the_plugin_folder_can_be_read_but_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let plugins = dir.path().canonicalize().unwrap().join("plugins");
        std::fs::create_dir(&plugins).unwrap();
        assert!(DirGrant::new(dir.path(), ".", Some("/all"), false, std::slice::from_ref(&plugins)).is_ok());
        assert!(DirGrant::new(dir.path(), ".", Some("/all"), true, std::slice::from_ref(&plugins)).is_err());
        assert!(DirGrant::new(&plugins, ".", Some("/p"), true, std::slice::from_ref(&plugins)).is_err());
    }

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
            assert!(plain_guest_path(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["data", "/", "/a/../b", "/a/", "", "."] {
            assert!(plain_guest_path(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_short_form_names_host_guest_and_mode() {
        let dir = tempfile::tempdir().unwrap();
        let host = dir.path().to_str().unwrap();
        assert!(!DirGrant::parse(&format!("{host}:/data"), &[]).unwrap().write);
        assert!(DirGrant::parse(&format!("{host}:/data:rw"), &[]).unwrap().write);
        assert!(matches!(DirGrant::parse(&format!("{host}:/data:rwx"), &[]), Err(GrantError::Form(_))));
    }
}
