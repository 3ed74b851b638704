//! What keeps a run from measuring the caches of an earlier one: folders of its own, and sources that no run had.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

/// The folders and the stamp of one run.
pub struct FreshCaches {
    folder: TempDir,
    stamp: u64,
}

impl FreshCaches {
    pub fn new() -> Self {
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        Self { folder: tempfile::tempdir().unwrap(), stamp }
    }

    /// A word that no earlier run had, since it has the time of this one. All that is added are digits.
    pub fn word(&self, word: &str, number: usize) -> String {
        format!("{word}{}{number}", self.stamp)
    }

    /// The variables of the program's commands. Plugport's builds and machine code are new in each run; the libraries
    /// that Zig and Go keep compiled for all projects are those of the user, if there was a build before.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let folder = self.folder.path();
        let own = [("XDG_CACHE_HOME", folder.join("cache")), ("XDG_STATE_HOME", folder.join("state"))];
        let mut variables = own.map(|(name, path)| (name, path.into_os_string())).to_vec();
        if let Some(cache) = user_cache() {
            for (name, tool) in [("ZIG_GLOBAL_CACHE_DIR", "zig"), ("GOCACHE", "go-build")] {
                let set = std::env::var_os(name);
                variables.push((name, set.unwrap_or_else(|| cache.join(tool).into_os_string())));
            }
        }
        variables
    }
}

/// Where Zig and Go keep what they have compiled, unless their own variables say otherwise.
fn user_cache() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    named.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
}
