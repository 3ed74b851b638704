//! The interface that a project is built for: its own folder `wit`, that of its SDK, or the one in this program.

use std::path::{Path, PathBuf};

use wit_parser::{PackageId, Resolve, WorldId};

use super::error::BuildError;
use crate::project::language::Language;
use crate::project::{Project, embedded};

/// The world of what every plugin can import. A component of JavaScript or Python imports all of its world.
const WORLD: &str = "plugin";

/// The world of all that a plugin can import, for languages whose linker leaves out the rest.
const LINKED_WORLD: &str = "everything";

/// A folder with WIT, and a world in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WitWorld {
    pub(super) folder: PathBuf,
    pub(super) world: String,
}

impl WitWorld {
    /// The interface of a project, whose SDK may have one of its own in the folder `sdk`. The embedded one is written
    /// into `scratch`.
    pub(super) fn of(project: &Project, sdk: Option<PathBuf>, scratch: &Path) -> Result<Self, BuildError> {
        let folder =
            [Some(project.root.join("wit")), sdk].into_iter().flatten().find(|folder| folder.is_dir());
        let folder = match folder {
            Some(folder) => folder,
            None => write(scratch.join("wit")).map_err(BuildError::Scratch)?,
        };
        let world = match &project.manifest.world {
            Some(world) => world.clone(),
            None => only_world(&folder)?.unwrap_or_else(|| default_world(project.language).to_owned()),
        };
        Ok(Self { folder, world })
    }

    /// Whether its package is Plugport's own, and not one that includes it.
    pub(super) fn is_plugports(&self) -> Result<bool, BuildError> {
        let (resolve, package) = read(&self.folder)?;
        let name = resolve.packages.get(package).map(|package| &package.name);
        Ok(name.is_some_and(|name| name.namespace == "plugport" && name.name == "plugin"))
    }

    /// Reads the folder and selects the world.
    pub(super) fn resolve(&self) -> Result<(Resolve, WorldId), BuildError> {
        let (resolve, package) = read(&self.folder)?;
        let world = resolve
            .select_world(&[package], Some(&self.world))
            .map_err(|error| BuildError::World(self.world.clone(), error))?;
        Ok((resolve, world))
    }
}

fn default_world(language: Language) -> &'static str {
    match language {
        Language::Go | Language::C | Language::Cpp | Language::Zig => LINKED_WORLD,
        Language::Rust | Language::TypeScript | Language::JavaScript | Language::Python => WORLD,
    }
}

fn write(folder: PathBuf) -> std::io::Result<PathBuf> {
    for (name, bytes) in embedded::below("wit") {
        embedded::write(&folder, name, bytes)?;
    }
    Ok(folder)
}

fn read(folder: &Path) -> Result<(Resolve, PackageId), BuildError> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder).map_err(BuildError::Wit)?;
    Ok((resolve, package))
}

/// The world of a folder that has exactly one.
fn only_world(folder: &Path) -> Result<Option<String>, BuildError> {
    let (resolve, package) = read(folder)?;
    let world = resolve.select_world(&[package], None).ok();
    Ok(world.and_then(|world| resolve.worlds.get(world)).map(|world| world.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &Path) -> Project {
        let manifest = Default::default();
        Project { root: root.to_owned(), language: Language::C, name: "x".to_owned(), manifest }
    }

    #[test]
    fn the_projects_own_interface_comes_first_and_the_one_in_this_program_last() {
        let [root, scratch] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let sdk = root.path().join("sdk/wit");
        let mut project = project(root.path());
        let embedded = WitWorld::of(&project, Some(sdk.clone()), scratch.path()).unwrap();
        assert_eq!((&embedded.folder, embedded.world.as_str()), (&scratch.path().join("wit"), "everything"));
        embedded.resolve().unwrap();
        std::fs::create_dir_all(&sdk).unwrap();
        std::fs::write(sdk.join("x.wit"), "package a:b; world js {}").unwrap();
        let its = WitWorld::of(&project, Some(sdk.clone()), scratch.path()).unwrap();
        assert_eq!((&its.folder, its.world.as_str()), (&sdk, "js"), "the only one");
        let own = root.path().join("wit");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("x.wit"), "package a:b; world mine {} world yours {}").unwrap();
        project.manifest.world = Some("mine".to_owned());
        let named = WitWorld::of(&project, Some(sdk), scratch.path()).unwrap();
        assert_eq!(named.folder, own);
        named.resolve().unwrap();
        project.manifest.world = None;
        let missing = WitWorld::of(&project, None, scratch.path()).unwrap().resolve().err().unwrap();
        assert_eq!(missing.to_string().split(';').next(), Some("the interface has no world `everything`"));
        std::fs::write(own.join("x.wit"), "world").unwrap();
        assert!(
            WitWorld::of(&project, None, scratch.path()).unwrap_err().to_string().contains("cannot be read")
        );
    }
}
