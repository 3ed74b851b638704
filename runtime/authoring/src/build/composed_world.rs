//! The world of a plugin in JavaScript or Python: the usual one, and those of the host's other interfaces that it uses.
//!
//! A component of these languages imports all of its world. Each function costs time in every instance, and an operator
//! is told what the plugin would need. What a bundle of JavaScript imports is only known once it is there, from
//! esbuild's metafile; what Python imports is read in its sources (`python_imports`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::BuildError;
use super::wit_world::WitWorld;
use crate::project::Project;
use crate::project::host_world::HostWorld;

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
pub(super) fn needed(metafile: &[u8]) -> Result<Vec<HostWorld>, BuildError> {
    let imports = imports(metafile)?;
    let is_imported =
        |world: &HostWorld| imports.iter().any(|import| import.starts_with(interface_start(*world)));
    Ok(HostWorld::ALL.into_iter().filter(is_imported).collect())
}

/// The interfaces that a bundle imports.
pub(super) fn imports(metafile: &[u8]) -> Result<Vec<String>, BuildError> {
    let metafile: Metafile = serde_json::from_slice(metafile).map_err(BuildError::Metafile)?;
    let imports = metafile.outputs.into_values().flat_map(|output| output.imports);
    Ok(imports.map(|import| import.path).collect())
}

/// How the names of a world's interfaces begin.
fn interface_start(world: HostWorld) -> &'static str {
    match world {
        HostWorld::Http => "plugport:plugin/http-client@",
        HostWorld::Keyvalue => "wasi:keyvalue/",
        HostWorld::Config => "wasi:config/",
        HostWorld::Detaching => "plugport:plugin/tasks@",
    }
}

/// The world of a project with these beside it; the SDK may have one of its own in the folder `sdk`. What the project
/// names or brings itself is taken as it is.
pub(super) fn world_of(
    project: &Project,
    sdk: Option<PathBuf>,
    worlds: &[HostWorld],
    scratch: &Path,
) -> Result<WitWorld, BuildError> {
    let wit = WitWorld::of(project, sdk, scratch)?;
    let is_own = project.manifest.world.is_some() || wit.folder == project.root.join("wit");
    if is_own { Ok(wit) } else { compose(wit, worlds, scratch.join("composed")) }
}

/// Adds these worlds to another one, in a copy of its folder.
fn compose(wit: WitWorld, worlds: &[HostWorld], folder: PathBuf) -> Result<WitWorld, BuildError> {
    if worlds.is_empty() {
        return Ok(wit);
    }
    // Within its own package a world has no longer name.
    let is_short = wit.is_plugports()?;
    let include = |world: &HostWorld| match (is_short, world.name()) {
        (true, name) => format!("include {name};"),
        (false, name) => format!("include plugport:plugin/{name}@0.1.0;"),
    };
    let includes: Vec<String> = worlds.iter().map(include).collect();
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
        assert_eq!(needed(&["plugport:plugin/changes@0.1.0", "wasi:random/random@0.2.12"]), []);
        let all = [
            "wasi:config/store@0.2.0-rc.1",
            "wasi:keyvalue/atomics@0.2.0-draft2",
            "wasi:keyvalue/store@0.2.0-draft2",
            "plugport:plugin/http-client@0.1.0",
            "plugport:plugin/tasks@0.1.0",
        ];
        assert_eq!(needed(&all), HostWorld::ALL);
        let unreadable = super::needed(b"{}").err().unwrap();
        assert!(unreadable.to_string().contains("npm install"), "{unreadable}");
    }

    #[test]
    fn the_usual_world_is_composed_with_what_is_needed_and_left_alone_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        for (files, name) in [("sdk/typescript/wit", "javascript"), ("wit", "plugin")] {
            let sdk = dir.path().join(name);
            for (file, bytes) in embedded::below(files) {
                embedded::write(&sdk, file, bytes).unwrap();
            }
            let world = || WitWorld { folder: sdk.clone(), world: name.to_owned() };
            assert_eq!(compose(world(), &[], dir.path().join("x")).unwrap(), world());
            let composed = compose(world(), &HostWorld::ALL, dir.path().join("wit").join(name)).unwrap();
            let (resolve, id) = composed.resolve().unwrap();
            let imports: Vec<String> =
                resolve.worlds[id].imports.keys().map(|key| resolve.name_world_key(key)).collect();
            for needed in ["plugport:plugin/http-client@0.1.0", "wasi:config/store@0.2.0-rc.1"] {
                assert!(imports.iter().any(|name| name == needed), "{needed} is not in {imports:?}");
            }
            assert!(resolve.worlds[id].exports.len() >= 4, "{name} exports what it did");
        }
    }

    #[test]
    fn a_world_of_the_projects_own_is_taken_as_it_is() {
        let [root, scratch] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (language, manifest) = (crate::cli::Language::Python, Default::default());
        let mut project = Project { root: root.path().to_owned(), language, name: "x".to_owned(), manifest };
        let world =
            |project: &Project| world_of(project, None, &[HostWorld::Http], scratch.path()).unwrap().world;
        assert_eq!(world(&project), "composed");
        project.manifest.world = Some("plugin".to_owned());
        assert_eq!(world(&project), "plugin");
        project.manifest.world = None;
        std::fs::create_dir(root.path().join("wit")).unwrap();
        std::fs::write(root.path().join("wit/x.wit"), "package a:b; world mine {}").unwrap();
        assert_eq!(world(&project), "mine");
    }
}
