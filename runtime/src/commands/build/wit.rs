//! The interface that a project is built for: its own folder `wit`, that of its SDK, or the one in this program.

use std::path::{Path, PathBuf};

use wit_parser::{Resolve, WorldId};

use super::error::BuildError;
use crate::commands::project::{Project, embedded};

/// The world that the SDKs are made for.
const WORLD: &str = "plugin";

/// A folder with WIT, and a world in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wit {
    pub(super) folder: PathBuf,
    pub(super) world: String,
}

impl Wit {
    /// The interface of a project, whose SDK may have one of its own in `sdk`, with a world of that name. What is written
    /// for it goes into `scratch`.
    pub(super) fn of(
        project: &Project,
        sdk: Option<(PathBuf, Option<String>)>,
        scratch: &Path,
    ) -> Result<Self, BuildError> {
        let named = project.manifest.world.clone();
        let own = project.root.join("wit");
        let world = |world: Option<String>| world.unwrap_or_else(|| WORLD.to_owned());
        if own.is_dir() {
            return Ok(Self { folder: own, world: world(named) });
        }
        if let Some((folder, its)) = sdk.filter(|(folder, _)| folder.is_dir()) {
            return Ok(Self { folder, world: world(named.or(its)) });
        }
        let folder = scratch.join("wit");
        for (name, bytes) in embedded::below("wit") {
            embedded::write(&folder, name, bytes).map_err(BuildError::Scratch)?;
        }
        Ok(Self { folder, world: world(named) })
    }

    /// Reads it.
    pub(super) fn resolve(&self) -> Result<(Resolve, WorldId), BuildError> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(&self.folder).map_err(BuildError::Wit)?;
        let world = resolve
            .select_world(&[package], Some(&self.world))
            .map_err(|error| BuildError::World(self.world.clone(), error))?;
        Ok((resolve, world))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Language;

    fn project(root: &Path) -> Project {
        let manifest = Default::default();
        Project { root: root.to_owned(), language: Language::C, name: "x".to_owned(), manifest }
    }

    #[test]
    fn the_projects_own_interface_comes_first_and_the_one_in_this_program_last() {
        let [root, scratch] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let sdk = (root.path().join("sdk/wit"), Some("js".to_owned()));
        let mut project = project(root.path());
        let embedded = Wit::of(&project, Some(sdk.clone()), scratch.path()).unwrap();
        assert_eq!((&embedded.folder, embedded.world.as_str()), (&scratch.path().join("wit"), "plugin"));
        embedded.resolve().unwrap();
        std::fs::create_dir_all(&sdk.0).unwrap();
        let its = Wit::of(&project, Some(sdk.clone()), scratch.path()).unwrap();
        assert_eq!((its.folder, its.world.as_str()), (sdk.0.clone(), "js"));
        let own = root.path().join("wit");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("x.wit"), "package a:b; world mine {}").unwrap();
        project.manifest.world = Some("mine".to_owned());
        let own = Wit::of(&project, Some(sdk), scratch.path()).unwrap();
        assert_eq!(own.folder, root.path().join("wit"));
        own.resolve().unwrap();
        project.manifest.world = None;
        let missing = Wit::of(&project, None, scratch.path()).unwrap().resolve().err().unwrap();
        assert_eq!(missing.to_string().split(';').next(), Some("the interface has no world `plugin`"));
    }
}
