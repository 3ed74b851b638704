//! The world of a plugin in JavaScript: that of its SDK, and those of the host's other interfaces that its bundle
//! imports.
//!
//! A component of JavaScript imports all of its world. Each function costs time in every instance, and an operator is
//! told what the plugin would need. What a bundle imports is only known once it is there, from esbuild's metafile.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::BuildError;
use super::wit_world::WitWorld;

/// How the names of interfaces begin, and the world of `plugport:plugin` that has them.
const WORLDS: [(&str, &str); 3] =
    [("plugport:plugin/http-client@", "http"), ("wasi:keyvalue/", "keyvalue"), ("wasi:config/", "config")];

/// The world that includes the others.
const COMPOSED: &str = "composed";

/// What esbuild says of a bundle; only what is read here.
#[derive(Deserialize)]
struct Metafile {
    outputs: BTreeMap<String, Output>,
}

#[derive(Deserialize)]
struct Output {
    imports: Vec<Import>,
}

#[derive(Deserialize)]
struct Import {
    path: String,
}

/// The worlds that a bundle needs beside that of the SDK.
pub(super) fn needed(metafile: &[u8]) -> Result<Vec<&'static str>, BuildError> {
    let metafile: Metafile = serde_json::from_slice(metafile).map_err(BuildError::Metafile)?;
    let imports = || metafile.outputs.values().flat_map(|output| &output.imports);
    let is_imported = |start: &str| imports().any(|import| import.path.starts_with(start));
    Ok(WORLDS.iter().filter(|(start, _)| is_imported(start)).map(|(_, world)| *world).collect())
}

/// Adds these worlds to another one, in a copy of its folder.
pub(super) fn compose(wit: WitWorld, worlds: &[&str], folder: PathBuf) -> Result<WitWorld, BuildError> {
    if worlds.is_empty() {
        return Ok(wit);
    }
    let includes: Vec<String> =
        worlds.iter().map(|world| format!("include plugport:plugin/{world}@0.1.0;")).collect();
    let composed = format!("world {COMPOSED} {{ include {}; {} }}\n", wit.world, includes.join(" "));
    copy(&wit.folder, &folder)
        .and_then(|()| std::fs::write(folder.join("composed.wit"), composed))
        .map_err(BuildError::Scratch)?;
    Ok(WitWorld { folder, world: COMPOSED.to_owned() })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::embedded;

    #[test]
    fn a_bundle_needs_the_worlds_that_it_imports() {
        let metafile = |imports: &[&str]| {
            let imports: Vec<_> = imports.iter().map(|path| serde_json::json!({ "path": path })).collect();
            serde_json::json!({ "inputs": {}, "outputs": { "plugin.js": { "imports": imports } } })
                .to_string()
        };
        let needed = |imports: &[&str]| needed(metafile(imports).as_bytes()).unwrap();
        assert_eq!(needed(&["plugport:plugin/changes@0.1.0", "wasi:random/random@0.2.12"]), [""; 0]);
        let all = [
            "wasi:config/store@0.2.0-rc.1",
            "wasi:keyvalue/atomics@0.2.0-draft2",
            "wasi:keyvalue/store@0.2.0-draft2",
            "plugport:plugin/http-client@0.1.0",
        ];
        assert_eq!(needed(&all), ["http", "keyvalue", "config"]);
        let unreadable = super::needed(b"{}").err().unwrap();
        assert!(unreadable.to_string().contains("npm install"), "{unreadable}");
    }

    #[test]
    fn the_world_of_the_sdk_is_composed_with_what_is_needed_and_left_alone_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let sdk = dir.path().join("sdk");
        for (name, bytes) in embedded::below("sdk/typescript/wit") {
            embedded::write(&sdk, name, bytes).unwrap();
        }
        let world = || WitWorld { folder: sdk.clone(), world: "javascript".to_owned() };
        assert_eq!(compose(world(), &[], dir.path().join("x")).unwrap(), world());
        let composed = compose(world(), &["http", "keyvalue", "config"], dir.path().join("wit")).unwrap();
        let (resolve, id) = composed.resolve().unwrap();
        let imports: Vec<String> =
            resolve.worlds[id].imports.keys().map(|key| resolve.name_world_key(key)).collect();
        for needed in ["plugport:plugin/http-client@0.1.0", "wasi:config/store@0.2.0-rc.1"] {
            assert!(imports.iter().any(|name| name == needed), "{needed} is not in {imports:?}");
        }
    }
}
