//! The cache and state folders of the user who runs this program: those that the XDG rules name, and on macOS those
//! below `~/Library` unless their variables are set.
//!
//! Compiled code has one folder per user: losing it costs only time. Each configuration has a state folder of its own,
//! and so has each plugin folder without a configuration. The state folder is named by the canonical path of either:
//! two servers of one folder share their state, whatever directory they were started in, and servers of two folders
//! never do. The folders that no guest may be granted come from here too.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::Config;

/// The name of this program's folder.
const FOLDER: &str = "plugport";

/// The usual name of a configuration; the name of its folder tells more.
const CONFIG_NAME: &str = "plugport.toml";

/// The state folder of earlier versions, in the folder of the configuration or in the working directory.
const LEGACY_STATE_DIR: &str = "plugport-state";

/// Longest readable part of the name of a state folder, characters: paths of the sockets below it must be short.
const MAX_READABLE: usize = 24;

/// Bytes of the digest in the name of a state folder: enough that no two of one user are equal.
const DIGEST_BYTES: usize = 6;

/// What a folder is for.
#[derive(Debug, Clone, Copy)]
enum DirKind {
    /// Files that can be made again.
    Cache,
    /// Files that cannot.
    State,
}

impl DirKind {
    fn variable(self) -> &'static str {
        match self {
            Self::Cache => "XDG_CACHE_HOME",
            Self::State => "XDG_STATE_HOME",
        }
    }

    /// Its default path in a home directory.
    fn default_path(self) -> &'static str {
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
    /// The state folder that an earlier version made for this configuration; nothing uses it any more.
    #[must_use]
    pub fn legacy_state_dir(&self) -> Option<PathBuf> {
        let base = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let legacy = base.join(LEGACY_STATE_DIR);
        (self.server.state_dir.is_none() && legacy.is_dir()).then_some(legacy)
    }
}

/// The user's folder for compiled code; `None` when the environment names none.
#[must_use]
pub fn user_cache_dir() -> Option<PathBuf> {
    all_user_cache_dirs().into_iter().next()
}

/// The user's folder for compiled code, and the one of a program with fewer environment variables.
pub(super) fn all_user_cache_dirs() -> Vec<PathBuf> {
    DirKind::Cache.folders()
}

/// The folders that hold the state folders of the user's servers: of a server with this environment, and of one with
/// fewer variables, as if an editor had started it.
#[must_use]
pub fn all_user_state_dirs() -> Vec<PathBuf> {
    DirKind::State.folders()
}

/// The folder where a server with this environment makes its state folder; `None` when the environment names none, or
/// one of another user.
#[must_use]
pub fn user_state_dir() -> Option<PathBuf> {
    all_user_state_dirs().into_iter().next().filter(|home| !is_owned_by_other_user(home))
}

/// The state folder of a server with this configuration, or else this plugin folder; `None` when no folder can hold it.
pub(super) fn server_state_dir(of: &Path) -> Option<PathBuf> {
    Some(user_state_dir()?.join(name(of)))
}

/// Whether a folder is, or would be made, in a folder of another user. `sudo` leaves `HOME` as it is, and the owner of
/// that home could not use what root makes there. Folders of root, such as `/tmp`, do not count.
fn is_owned_by_other_user(folder: &Path) -> bool {
    let existing = folder.ancestors().find_map(|folder| folder.metadata().ok());
    existing
        .is_some_and(|existing| existing.uid() != 0 && existing.uid() != rustix::process::geteuid().as_raw())
}

/// A name that no other path has, and that people recognise.
fn name(of: &Path) -> String {
    let whole = of.canonicalize().or_else(|_| std::path::absolute(of)).unwrap_or_else(|_| of.to_owned());
    let named_after = match whole.parent() {
        Some(parent) if whole.file_name().is_some_and(|name| name == CONFIG_NAME) => parent,
        _ => &whole,
    };
    let stem = named_after.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let readable: String = stem.chars().filter(plain).take(MAX_READABLE).collect();
    let digest = Sha256::digest(whole.as_os_str().as_bytes());
    let digest = HEXLOWER.encode(digest.get(..DIGEST_BYTES).unwrap_or_default());
    if readable.is_empty() { digest } else { format!("{readable}-{digest}") }
}

fn folders(kind: DirKind, named: Option<OsString>, home: Option<OsString>) -> Vec<PathBuf> {
    // A relative path depends on the working directory, and XDG says to ignore it.
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let default = absolute(home).map(|home| home.join(kind.default_path()));
    let mut folders: Vec<_> =
        absolute(named).into_iter().chain(default).map(|folder| folder.join(FOLDER)).collect();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(kind: DirKind, named: Option<&str>, home: Option<&str>) -> Vec<PathBuf> {
        folders(kind, named.map(OsString::from), home.map(OsString::from))
    }

    #[test]
    fn it_is_where_the_environment_says_or_else_in_the_home_directory() {
        for kind in [DirKind::Cache, DirKind::State] {
            let named = PathBuf::from("/fast/plugport");
            let usual = Path::new("/home/ada").join(kind.default_path()).join(FOLDER);
            assert_eq!(dirs(kind, Some("/fast"), Some("/home/ada")), [named.clone(), usual.clone()]);
            assert_eq!(dirs(kind, Some("/fast"), None), [named]);
            assert_eq!(dirs(kind, None, Some("/home/ada")), std::slice::from_ref(&usual));
            let said = usual.parent().unwrap().to_str().unwrap();
            assert_eq!(dirs(kind, Some(said), Some("/home/ada")), [usual], "both are one folder");
        }
    }

    #[test]
    fn what_is_no_absolute_path_names_no_folder() {
        let usual = Path::new("/home/ada").join(DirKind::State.default_path()).join(FOLDER);
        for bad in [None, Some(""), Some("state"), Some("./state"), Some("~/.local/state")] {
            assert!(dirs(DirKind::State, bad, bad).is_empty(), "{bad:?}");
            assert_eq!(dirs(DirKind::State, bad, Some("/home/ada")), std::slice::from_ref(&usual), "{bad:?}");
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
        let mut config = Config { file: Some(dir.path().join(CONFIG_NAME)), ..Config::new("plugins".into()) };
        assert_eq!(config.legacy_state_dir(), None);
        std::fs::create_dir(dir.path().join(LEGACY_STATE_DIR)).unwrap();
        assert_eq!(config.legacy_state_dir(), Some(dir.path().join(LEGACY_STATE_DIR)));
        config.server.state_dir = Some(LEGACY_STATE_DIR.into());
        assert_eq!(config.legacy_state_dir(), None);
    }

    #[test]
    fn a_state_folder_is_named_by_where_things_really_lie() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let work = root.join("My work!");
        std::fs::create_dir(&work).unwrap();
        std::os::unix::fs::symlink(&work, root.join("link")).unwrap();
        std::fs::write(work.join(CONFIG_NAME), "").unwrap();
        let usual = name(&work.join(CONFIG_NAME));
        assert!(usual.starts_with("Mywork-") && usual.len() == "Mywork-".len() + 2 * DIGEST_BYTES, "{usual}");
        assert_eq!(name(&root.join("link/plugport.toml")), usual);
        assert_eq!(name(&root.join("link/../link/plugport.toml")), usual);
        assert_ne!(name(&work), usual, "a folder is another thing than a configuration in it");
        assert!(name(&work.join("demo.toml")).starts_with("demo-"));
        assert_eq!(name(Path::new("/")).len(), 2 * DIGEST_BYTES);
        assert!(name(&root.join("x".repeat(200))).len() <= MAX_READABLE + 1 + 2 * DIGEST_BYTES);
    }
}
