//! `dirs`: directories of the host as the guest sees them. `"./data"`, or `{ host = "./data", guest = "/data", write = false }`;
//! on the command line `dir=HOST`, `dir=HOST:GUEST` or `dir=HOST:GUEST:rw`.

use std::path::{Component, Path, PathBuf};

use toml::de::DeValue;

use super::super::reader::{Entry, Reader};
use super::{GrantError, Place};

/// Folders whose contents give away or change the machine itself: `/proc/self/environ` alone holds every secret of
/// this process.
const NEVER: &[&str] = &["/", "/proc", "/sys", "/dev", "/etc"];

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

impl DirGrant {
    /// Resolves what was written and refuses what no plugin may have: a directory that is missing, one of the refused
    /// roots, one where writing would reach a protected place, a guest path that is not absolute.
    fn new(form: &Form<'_>, place: Place<'_>) -> Result<Self, GrantError> {
        let Form { host, guest, write } = *form;
        let path = place.base.join(host);
        let missing = |reason: String| GrantError::Missing { path: path.clone(), reason };
        let host = path.canonicalize().map_err(|error| missing(error.to_string()))?;
        if !host.is_dir() {
            return Err(missing("it is not a directory".to_owned()));
        }
        if let Some(root) = refused_root(&host) {
            return Err(GrantError::Refused { path: host, why: format!("{root} is never granted") });
        }
        let touches = |path: &PathBuf| path.starts_with(&host) || host.starts_with(path);
        if write && place.protected.iter().any(touches) {
            let why = "writing there could publish plugins or change the configuration".to_owned();
            return Err(GrantError::Refused { path: host, why });
        }
        let guest = match guest {
            Some(guest) => guest.to_owned(),
            None => format!("/{}", host.file_name().unwrap_or_default().to_string_lossy()),
        };
        Ok(Self { host, guest: plain_guest_path(guest)?, write })
    }

    /// Reads an element of the array `dirs`. `None`: it has no such form, which was noted.
    pub(super) fn read(
        entry: Entry<'_>,
        place: Place<'_>,
        reader: &mut Reader<'_>,
    ) -> Option<Result<Self, GrantError>> {
        if matches!(entry.value, DeValue::String(_)) {
            let host = entry.string(reader)?;
            return Some(Self::new(&Form { host: &host, guest: None, write: false }, place));
        }
        let (key, span) = (entry.key.clone(), entry.span.clone());
        let mut section = entry.section(reader)?;
        let host = section.take("host").and_then(|entry| entry.string(reader));
        let guest = section.take("guest").and_then(|entry| entry.string(reader));
        let write = section.take("write").and_then(|entry| entry.boolean(reader)).unwrap_or(false);
        section.finish(reader, &["host", "guest", "write"]);
        if host.is_none() {
            reader.fault(span, &key, "needs `host`, the directory to grant");
        }
        Some(Self::new(&Form { host: &host?, guest: guest.as_deref(), write }, place))
    }

    /// Reads `HOST`, `HOST:GUEST` or `HOST:GUEST:rw`.
    pub(super) fn parse(text: &str, place: Place<'_>) -> Result<Self, GrantError> {
        let parts: Vec<&str> = text.split(':').collect();
        let form = match parts.as_slice() {
            [host] => Form { host, guest: None, write: false },
            [host, guest] | [host, guest, "ro"] => Form { host, guest: Some(guest), write: false },
            [host, guest, "rw"] => Form { host, guest: Some(guest), write: true },
            _ => {
                let why = "write dir=HOST, dir=HOST:GUEST or dir=HOST:GUEST:rw".to_owned();
                return Err(GrantError::Form { grant: text.to_owned(), why });
            }
        };
        Self::new(&form, place)
    }
}

/// A directory as it is written down.
struct Form<'a> {
    host: &'a str,
    guest: Option<&'a str>,
    write: bool,
}

/// The place that a path means, links and `..` resolved as far as it exists already.
pub(in super::super) fn resolved(path: &Path) -> Option<PathBuf> {
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

/// By its text: two spellings of one path, such as `/a` and `//a`, would be two grants.
fn plain_guest_path(guest: String) -> Result<String, GrantError> {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
    match guest.strip_prefix('/') {
        Some(names) if names.split('/').all(plain) => Ok(guest),
        _ => Err(GrantError::GuestPath(guest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(
        base: &Path,
        host: &str,
        guest: &str,
        write: bool,
        protected: &[PathBuf],
    ) -> Result<DirGrant, GrantError> {
        DirGrant::new(&Form { host, guest: Some(guest), write }, Place { base, protected })
    }

    #[test]
    fn roots_that_hold_the_machine_are_refused() {
        for root in ["/", "/proc", "/proc/self", "/sys", "/dev", "/etc"] {
            let refusal = grant(Path::new(""), root, "/x", false, &[]);
            assert!(matches!(refusal, Err(GrantError::Refused { .. })), "{root}: {refusal:?}");
        }
    }

    #[test]
    fn a_link_to_a_refused_root_is_refused_too() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("harmless")).unwrap();
        let refusal = grant(dir.path(), "harmless", "/x", false, &[]);
        assert!(matches!(refusal, Err(GrantError::Refused { .. })), "{refusal:?}");
    }

    #[test]
    fn the_plugin_folder_can_be_read_but_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let plugins = dir.path().canonicalize().unwrap().join("plugins");
        std::fs::create_dir(&plugins).unwrap();
        assert!(grant(dir.path(), ".", "/all", false, std::slice::from_ref(&plugins)).is_ok());
        assert!(grant(dir.path(), ".", "/all", true, std::slice::from_ref(&plugins)).is_err());
        assert!(grant(&plugins, ".", "/p", true, std::slice::from_ref(&plugins)).is_err());
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
        for bad in ["data", "/", "/a/../b", "/a/", "", ".", "//a", "/a//b", "/a/./b", "/a\x1b"] {
            assert!(plain_guest_path(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_short_form_names_host_guest_and_mode() {
        let dir = tempfile::tempdir().unwrap();
        let host = dir.path().to_str().unwrap();
        let place = Place { base: Path::new(""), protected: &[] };
        assert!(!DirGrant::parse(&format!("{host}:/data"), place).unwrap().write);
        assert!(DirGrant::parse(&format!("{host}:/data:rw"), place).unwrap().write);
        assert!(matches!(DirGrant::parse(&format!("{host}:/data:rwx"), place), Err(GrantError::Form { .. })));
    }
}
