//! Which names in a project are those of no sources: `plugport dev` does not watch these files, and the build of Python
//! neither reads nor copies them.

use std::ffi::OsStr;
use std::path::Path;

/// Files and folders that are not written by hand, or are for a server.
const NO_SOURCES: [&str; 4] = [
    "__pycache__",
    "plugport.toml",
    "plugport.lock",
    "4913", // Vim creates it to test whether it may write
];

/// Suffixes of what is made of a plugin, and of temporary files of editors.
const NO_SOURCE_SUFFIXES: [&str; 9] = [".wasm", ".minisig", ".o", ".pyc", "~", ".tmp", ".swp", ".part", "#"];

/// Marks folders that can be recreated at any time, such as cargo's target folder.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Whether a file or a folder of this name is neither a source nor has any.
pub(crate) fn is_no_source(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_known = NO_SOURCES.iter().any(|known| name == known.as_bytes());
    let has_suffix = NO_SOURCE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix.as_bytes()));
    is_known || has_suffix || name.starts_with(b".")
}

/// Whether all of a folder can be recreated at any time.
pub(crate) fn is_cache(folder: &Path) -> bool {
    folder.join(CACHE_TAG).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_a_plugin_is_no_source() {
        let is = |name: &str| is_no_source(OsStr::new(name));
        for name in [".git", "x.wasm", "x.wasm.minisig", "plugport.lock", "plugport.toml", "x.pyc", "x.py~"] {
            assert!(is(name), "{name}");
        }
        for name in ["x.py", "target", "plugin.toml", "x.so", "README.md"] {
            assert!(!is(name), "{name}");
        }
    }
}
