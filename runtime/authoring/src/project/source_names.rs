//! Which names in a project are those of no sources: `plugport dev` does not watch these files, and the build of Python
//! neither reads nor copies them. Fewer names are those of no files for the component, and they are no sources either.

use std::ffi::OsStr;
use std::path::Path;

/// Files and folders that programs write for themselves.
const TEMPORARY: [&str; 2] = [
    "__pycache__",
    "4913", // Vim creates it to test whether it may write
];

/// Suffixes of such files.
const TEMPORARY_SUFFIXES: [&str; 6] = [".pyc", "~", ".tmp", ".swp", ".part", "#"];

/// Files for a server.
const NO_SOURCES: [&str; 2] = ["plugport.toml", "plugport.lock"];

/// Suffixes of what is made of a plugin.
const NO_SOURCE_SUFFIXES: [&str; 3] = [".wasm", ".minisig", ".o"];

/// Marks folders that can be recreated at any time, such as cargo's target folder.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Whether a file or a folder of this name is hidden or temporary. Below `skills/` and `ui/` everything else goes into
/// the component.
pub(crate) fn is_hidden_or_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || is_one(name, &TEMPORARY, &TEMPORARY_SUFFIXES)
}

/// Whether a file or a folder of this name is neither a source nor has any.
pub(crate) fn is_no_source(name: &OsStr) -> bool {
    is_hidden_or_temporary(name) || is_one(name, &NO_SOURCES, &NO_SOURCE_SUFFIXES)
}

fn is_one(name: &OsStr, names: &[&str], suffixes: &[&str]) -> bool {
    let name = name.as_encoded_bytes();
    names.iter().any(|known| name == known.as_bytes())
        || suffixes.iter().any(|suffix| name.ends_with(suffix.as_bytes()))
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

    #[test]
    fn temporary_files_are_none_for_the_component() {
        let is = |name: &str| is_hidden_or_temporary(OsStr::new(name));
        for name in [".git", "__pycache__", "x.pyc", "SKILL.md~", ".SKILL.md.swp", "#SKILL.md#", "x.part"] {
            assert!(is(name), "{name}");
        }
        for name in ["SKILL.md", "x.wasm", "x.o", "plugport.toml", "target", "node_modules"] {
            assert!(!is(name), "{name}");
        }
    }
}
