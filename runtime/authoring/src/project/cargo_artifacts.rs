//! Finds the file that cargo has built of a package, in cargo's messages.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::valid_name;

/// The component that a build has written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BuiltFile {
    pub(crate) file: PathBuf,
    /// The plugin's name, if the build says it.
    pub(crate) name: Option<String>,
}

/// Why the component cannot be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error(
        "cargo made no .wasm file of this package; write crate-type = [\"cdylib\"] under [lib] in its Cargo.toml"
    )]
    NoLibrary,
    #[error("it is not known which of these the build is for: {}; name one with --output FILE.wasm", named(.0))]
    Several(Vec<PathBuf>),
}

/// The paths of several files in one line.
pub(crate) fn named(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The artifacts of one package, from cargo's messages.
#[derive(Debug)]
pub(crate) struct Artifacts {
    manifest: PathBuf,
    libraries: Vec<BuiltFile>,
    programs: Vec<BuiltFile>,
}

#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    target: CargoTarget,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize, Default)]
struct CargoTarget {
    #[serde(default)]
    kind: Vec<String>,
}

impl Artifacts {
    /// For the package in `root`.
    pub(crate) fn of(root: &Path) -> Self {
        Self { manifest: root.join("Cargo.toml"), libraries: Vec::new(), programs: Vec::new() }
    }

    /// Reads a line of cargo's output. Returns whether it is a message.
    pub(crate) fn parse_line(&mut self, line: &str) -> bool {
        let Ok(message) = serde_json::from_str::<CargoMessage>(line) else { return false };
        if message.reason != "compiler-artifact" || message.manifest_path != self.manifest {
            return true;
        }
        let name = package_name(&message.package_id);
        let library = message.target.kind.iter().any(|kind| kind == "cdylib");
        let list = if library { &mut self.libraries } else { &mut self.programs };
        let components = message.filenames.into_iter().filter(|file| is_wasm(file));
        list.extend(components.map(|file| BuiltFile { file, name: name.clone() }));
        true
    }

    /// The only component. Libraries come before programs: a program is no plugin, but loading it tells the author so.
    pub(crate) fn one(self) -> Result<BuiltFile, ArtifactError> {
        let mut files = if self.libraries.is_empty() { self.programs } else { self.libraries };
        match (files.pop(), files.is_empty()) {
            (Some(made), true) => Ok(made),
            (Some(made), false) => {
                files.push(made);
                Err(ArtifactError::Several(files.into_iter().map(|made| made.file).collect()))
            }
            (None, _) => Err(ArtifactError::NoLibrary),
        }
    }
}

/// The package's name from its id: `path+file:///folder/name#1.0.0`, or `path+file:///folder#name@1.0.0`.
fn package_name(id: &str) -> Option<String> {
    let (folder, fragment) = id.rsplit_once('#')?;
    let name = match fragment.split_once('@') {
        Some((name, _)) => name,
        None => folder.rsplit('/').next()?,
    };
    Some(valid_name(name))
}

fn is_wasm(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of cargo 1.95 for a package in `/p/my-tool` that uses `/p/helper`, without the fields that are not
    /// read.
    const MESSAGES: [&str; 5] = [
        r#"{"reason":"compiler-artifact","package_id":"path+file:///p/my-tool#0.1.0","manifest_path":"/p/my-tool/Cargo.toml","target":{"kind":["custom-build"],"crate_types":["bin"],"name":"build-script-build"},"features":[],"filenames":["/p/my-tool/target/release/build/my-tool-c8dd53a1bc20ef5a/build-script-build"],"executable":null,"fresh":false}"#,
        r#"{"reason":"build-script-executed","package_id":"path+file:///p/my-tool#0.1.0","linked_libs":[],"linked_paths":[],"cfgs":[],"env":[],"out_dir":"/p/my-tool/target/wasm32-wasip2/release/build/my-tool-2e46d2cdb2dd1352/out"}"#,
        r#"{"reason":"compiler-artifact","package_id":"path+file:///p/helper#0.1.0","manifest_path":"/p/helper/Cargo.toml","target":{"kind":["cdylib","rlib"],"crate_types":["cdylib","rlib"],"name":"helper"},"features":[],"filenames":["/p/my-tool/target/wasm32-wasip2/release/deps/helper.wasm","/p/my-tool/target/wasm32-wasip2/release/deps/libhelper.rlib"],"executable":null,"fresh":false}"#,
        r#"{"reason":"compiler-artifact","package_id":"path+file:///p/my-tool#0.1.0","manifest_path":"/p/my-tool/Cargo.toml","target":{"kind":["cdylib"],"crate_types":["cdylib"],"name":"my_tool"},"profile":{"opt_level":"3"},"features":[],"filenames":["/p/my-tool/target/wasm32-wasip2/release/my_tool.wasm"],"executable":null,"fresh":false}"#,
        r#"{"reason":"build-finished","success":true}"#,
    ];

    #[test]
    fn the_artifact_is_the_library_of_the_projects_own_package() {
        let mut artifacts = Artifacts::of(Path::new("/p/my-tool"));
        assert!(MESSAGES.iter().all(|line| artifacts.parse_line(line)));
        assert!(!artifacts.parse_line("warning: something in words") && !artifacts.parse_line("{}"));
        let file = PathBuf::from("/p/my-tool/target/wasm32-wasip2/release/my_tool.wasm");
        assert_eq!(artifacts.one().unwrap(), BuiltFile { file, name: Some("my-tool".to_owned()) });
    }

    #[test]
    fn a_package_without_a_library_or_with_several_files_is_told() {
        let none = Artifacts::of(Path::new("/elsewhere")).one().unwrap_err();
        assert!(none.to_string().contains("cdylib"), "{none}");
        let mut artifacts = Artifacts::of(Path::new("/p/my-tool"));
        for name in ["a", "b"] {
            let line = MESSAGES[3].replace("cdylib", "bin").replace("my_tool.wasm", &format!("{name}.wasm"));
            assert!(artifacts.parse_line(&line));
        }
        let several = artifacts.one().unwrap_err().to_string();
        assert!(
            several.contains("a.wasm") && several.contains("b.wasm; name one with --output"),
            "{several}"
        );
    }

    #[test]
    fn packages_are_named_by_their_ids() {
        assert_eq!(package_name("path+file:///a/my-tool#0.1.0").as_deref(), Some("my-tool"));
        assert_eq!(package_name("path+file:///a/b#my-tool@0.1.0").as_deref(), Some("my-tool"));
        assert_eq!(package_name("my-tool 0.1.0 (path)"), None);
    }
}
