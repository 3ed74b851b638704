//! The files that are embedded in this program: the WIT, the SDKs and the templates, in a table that the build script
//! writes.

#[cfg(test)]
#[path = "../../build/tree.rs"]
mod tree;

use std::io;
use std::path::Path;

/// Paths with `/` between their parts, and contents, sorted by path.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files below a folder, with their paths relative to it.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().filter_map(move |(name, bytes)| {
        let below = name.strip_prefix(folder)?.strip_prefix('/')?;
        Some((below, *bytes))
    })
}

/// The contents of one file.
pub(crate) fn file(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

/// Writes a file below `root`, and makes its folders.
pub(crate) fn write(root: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = root.join(name);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_there_and_tests_are_not() {
        assert!(below("wit").any(|(name, _)| name == "plugin.wit"));
        assert!(below("wit").any(|(name, _)| name == "deps/keyvalue/store.wit"));
        assert!(file("LICENSE").is_some_and(|text| !text.is_empty()));
        let sdk: Vec<_> = below("sdk/rust").map(|(name, _)| name).collect();
        for needed in
            ["Cargo.toml", "sdk-guest/Cargo.toml", "sdk-guest/wit/plugin.wit", "sdk-guest/src/lib.rs"]
        {
            assert!(sdk.contains(&needed), "{needed} is missing in {sdk:?}");
        }
        let made =
            |name: &str| name.contains("/tests/") || name.contains("/target/") || name.ends_with(".wasm");
        let unneeded: Vec<_> = sdk.iter().filter(|name| made(name)).collect();
        assert!(unneeded.is_empty(), "{unneeded:?}");
    }

    /// Cargo does not notice a new file in a folder in which things are built.
    #[test]
    fn all_that_lies_in_the_repository_is_there() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let lying = tree::Tree::of(repository).unwrap();
        assert!(
            lying.watched.contains(&repository.join("wit")),
            "a folder of sources alone is watched as a whole"
        );
        let python = repository.join("sdk-guest/python/src");
        assert!(
            !lying.watched.iter().any(|path| path.is_dir() && path.starts_with(&python)),
            "running the SDK's tests writes `__pycache__`, and would compile this crate again"
        );
        let written = |name: &str| name.starts_with("sdk/rust/") && name.ends_with("Cargo.toml");
        let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).filter(|name| !written(name)).collect();
        let lying: Vec<&str> = lying.files.keys().map(String::as_str).collect();
        assert_eq!(known, lying, "touch runtime/authoring/build.rs and build again");
    }

    #[test]
    fn the_rust_sdk_has_a_workspace_of_its_own() {
        let text = |name| std::str::from_utf8(file(name).unwrap()).unwrap();
        let root: toml::Table = toml::from_str(text("sdk/rust/Cargo.toml")).unwrap();
        let workspace = root["workspace"].as_table().unwrap();
        let sdk: toml::Table = toml::from_str(text("sdk/rust/sdk-guest/Cargo.toml")).unwrap();
        let inherited = sdk["dependencies"]
            .as_table()
            .unwrap()
            .iter()
            .filter(|(_, from)| from.get("workspace").is_some());
        for (name, _) in inherited {
            assert!(workspace["dependencies"].get(name).is_some(), "{name} has nothing to inherit");
        }
        assert!(sdk.get("dev-dependencies").is_none() && sdk.get("test").is_none());
        assert!(workspace["package"].get("version").is_some() && workspace.contains_key("lints"));
    }
}
