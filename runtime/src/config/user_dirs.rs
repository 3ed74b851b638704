//! The cache and state folders of the user who runs this program: those that the XDG rules name, and on macOS those
//! below `~/Library` unless their variables are set.
//!
//! Compiled code has one folder per user, since nothing is lost with it but time. What plugins keep is apart
//! for each configuration, or for each plugin folder without one, by where that really lies: two servers of one folder find
//! the same, whatever directory they were started in, and those of two folders never mix. Knows the environment alone, and what
//! an earlier version did, so that where it all is and what no guest may have are the same answer.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::Config;

/// The folder among those of other programs.
const FOLDER: &str = "plugport";

/// The usual name of a configuration, which says nothing of what it configures; the folder it lies in does.
const USUAL: &str = "plugport.toml";

/// What a state folder was called when it lay beside the configuration, or where a server without one was started.
const FORMER: &str = "plugport-state";

/// Longest name of a person's that goes into the name of a state folder, characters. Sockets lie below it, whose paths may
/// not be long.
const READABLE: usize = 24;

/// Bytes of the digest in the name of a state folder: enough that no two of one person are alike.
const DIGEST: usize = 6;

/// What is kept.
#[derive(Debug, Clone, Copy)]
enum DirKind {
    /// Can be made again.
    Cache,
    /// Cannot.
    State,
}

impl DirKind {
    fn variable(self) -> &'static str {
        match self {
            Self::Cache => "XDG_CACHE_HOME",
            Self::State => "XDG_STATE_HOME",
        }
    }

    /// Where it is in a home directory.
    fn usual(self) -> &'static str {
        match (self, cfg!(target_os = "macos")) {
            (Self::Cache, false) => ".cache",
            (Self::State, false) => ".local/state",
            (Self::Cache, true) => "Library/Caches",
            (Self::State, true) => "Library/Application Support",
        }
    }

    fn folders(self) -> Vec<PathBuf> {
        folders(self, std::env::var_os(self.variable()), std::env::var_os("HOME"))
    }
}

impl Config {
    /// A state folder that an earlier version made for this configuration, and that nothing uses any more.
    #[must_use]
    pub fn legacy_state_dir(&self) -> Option<PathBuf> {
        let beside = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let former = beside.join(FORMER);
        (self.server.state_dir.is_none() && former.is_dir()).then_some(former)
    }
}

/// Where compiled code is; `None` when the environment names no place.
#[must_use]
pub fn user_cache_dir() -> Option<PathBuf> {
    all_user_cache_dirs().into_iter().next()
}

/// The same, and where it is for a program that has less in its environment.
pub(super) fn all_user_cache_dirs() -> Vec<PathBuf> {
    DirKind::Cache.folders()
}

/// The folders with the state folders of this person's servers: the one for programs with this environment, and the one for
/// those that have less in theirs, as servers have that an editor started.
#[must_use]
pub fn all_user_state_dirs() -> Vec<PathBuf> {
    DirKind::State.folders()
}

/// The one where a server with this environment makes its state folder; `None` when the environment names no place, or another
/// person's.
#[must_use]
pub fn user_state_dir() -> Option<PathBuf> {
    all_user_state_dirs().into_iter().next().filter(|home| !is_owned_by_other_user(home))
}

/// The state folder of a server, by its configuration or else by its plugin folder; `None` when there is no place for it.
pub(super) fn server_state_dir(of: &Path) -> Option<PathBuf> {
    Some(user_state_dir()?.join(name(of)))
}

/// Whether a folder is, or would be made, among those of another person. `sudo` leaves `HOME` as it is, and what is made there
/// then, the owner of that home could not use. What belongs to the system, as `/tmp` does, is nobody's.
fn is_owned_by_other_user(folder: &Path) -> bool {
    let there = folder.ancestors().find_map(|folder| folder.metadata().ok());
    there.is_some_and(|there| there.uid() != 0 && there.uid() != rustix::process::geteuid().as_raw())
}

/// A name that no other file or folder has, and that a person recognises.
fn name(of: &Path) -> String {
    let whole = of.canonicalize().or_else(|_| std::path::absolute(of)).unwrap_or_else(|_| of.to_owned());
    let telling = match whole.parent() {
        Some(parent) if whole.file_name().is_some_and(|name| name == USUAL) => parent,
        _ => &whole,
    };
    let telling = telling.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let readable: String = telling.chars().filter(plain).take(READABLE).collect();
    let digest = Sha256::digest(whole.as_os_str().as_bytes());
    let digest = HEXLOWER.encode(digest.get(..DIGEST).unwrap_or_default());
    if readable.is_empty() { digest } else { format!("{readable}-{digest}") }
}

fn folders(kind: DirKind, named: Option<OsString>, home: Option<OsString>) -> Vec<PathBuf> {
    // What is relative would be another folder wherever one stands, and is to be ignored.
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = absolute(home).map(|home| home.join(kind.usual()));
    let mut folders: Vec<_> =
        absolute(named).into_iter().chain(usual).map(|folder| folder.join(FOLDER)).collect();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: DirKind, named: Option<&str>, home: Option<&str>) -> Vec<PathBuf> {
        folders(kind, named.map(OsString::from), home.map(OsString::from))
    }

    #[test]
    fn it_is_where_the_environment_says_or_else_in_the_home_directory() {
        for kind in [DirKind::Cache, DirKind::State] {
            let named = PathBuf::from("/fast/plugport");
            let usual = Path::new("/home/ada").join(kind.usual()).join(FOLDER);
            assert_eq!(found(kind, Some("/fast"), Some("/home/ada")), [named.clone(), usual.clone()]);
            assert_eq!(found(kind, Some("/fast"), None), [named]);
            assert_eq!(found(kind, None, Some("/home/ada")), std::slice::from_ref(&usual));
            let said = usual.parent().unwrap().to_str().unwrap();
            assert_eq!(found(kind, Some(said), Some("/home/ada")), [usual], "it is one folder");
        }
    }

    #[test]
    fn what_is_no_absolute_path_names_no_folder() {
        let usual = Path::new("/home/ada").join(DirKind::State.usual()).join(FOLDER);
        for bad in [None, Some(""), Some("state"), Some("./state"), Some("~/.local/state")] {
            assert!(found(DirKind::State, bad, bad).is_empty(), "{bad:?}");
            assert_eq!(
                found(DirKind::State, bad, Some("/home/ada")),
                std::slice::from_ref(&usual),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn nothing_is_made_in_the_home_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".local/state");
        assert!(!is_owned_by_other_user(&state) && !is_owned_by_other_user(Path::new("/none/there")));
        // Only root can give a folder away, and only root would make something there.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(dir.path(), Some(1), None).unwrap();
            assert!(is_owned_by_other_user(&state));
        }
    }

    #[test]
    fn a_state_folder_of_an_earlier_version_is_found_unless_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config { file: Some(dir.path().join(USUAL)), ..Config::new("plugins".into()) };
        assert_eq!(config.legacy_state_dir(), None);
        std::fs::create_dir(dir.path().join(FORMER)).unwrap();
        assert_eq!(config.legacy_state_dir(), Some(dir.path().join(FORMER)));
        config.server.state_dir = Some(FORMER.into());
        assert_eq!(config.legacy_state_dir(), None);
    }

    #[test]
    fn a_state_folder_is_named_by_where_things_really_lie() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let work = root.join("My work!");
        std::fs::create_dir(&work).unwrap();
        std::os::unix::fs::symlink(&work, root.join("link")).unwrap();
        std::fs::write(work.join(USUAL), "").unwrap();
        let usual = name(&work.join(USUAL));
        assert!(usual.starts_with("Mywork-") && usual.len() == "Mywork-".len() + 2 * DIGEST, "{usual}");
        assert_eq!(name(&root.join("link/plugport.toml")), usual);
        assert_eq!(name(&root.join("link/../link/plugport.toml")), usual);
        assert_ne!(name(&work), usual, "a folder is another thing than a configuration in it");
        assert!(name(&work.join("demo.toml")).starts_with("demo-"));
        assert_eq!(name(Path::new("/")).len(), 2 * DIGEST);
        assert!(name(&root.join("x".repeat(200))).len() <= READABLE + 1 + 2 * DIGEST);
    }
}
