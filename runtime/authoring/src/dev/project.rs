//! Decides how a project is built, from the names of its files. Cargo is run directly, so that its messages name the
//! component. A build script or a Makefile of the project comes before `plugport build`, which handles the rest.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::workdir;
use crate::cli;
use crate::project::{self, ProjectDir, ProjectError, cargo_options};

/// The build script of a package that uses this program.
const OWN_SCRIPT: &str = "plugport build";

/// A plugin project.
#[derive(Debug)]
pub(super) struct Project {
    /// The canonical path of its folder: cargo names files so.
    pub(super) root: PathBuf,
    /// The plugin's name, unless the build names another.
    pub(super) name: String,
    pub(super) recipe: Recipe,
    /// The component that the build writes, if known.
    pub(super) output: Option<PathBuf>,
}

/// How a project is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recipe {
    Cargo,
    Npm,
    Make,
    /// This program's own `build`.
    Plugport,
    /// A command for the shell.
    Command(String),
}

impl Project {
    pub(super) fn find(args: &cli::Dev) -> Result<Self, ProjectError> {
        let folder = ProjectDir::read(&args.project)?;
        let output = args.output.as_ref().map(|file| folder.root.join(file));
        if let Some(command) = &args.build {
            // A broken package.json does not matter here.
            let package = folder.package().unwrap_or_default();
            let (root, recipe) = (folder.root, Recipe::Command(command.clone()));
            return Ok(Self { name: name(&root, package.as_ref()), recipe, output, root });
        }
        let package = folder.package()?;
        if let Some(recipe) = recognise(&folder, package.as_ref()) {
            let root = folder.root;
            return Ok(Self { name: name(&root, package.as_ref()), recipe, output, root });
        }
        let language = folder.language(package.as_ref());
        let project = project::Project::of(folder, language, package)?;
        let built = || workdir::built(&project.root);
        let output = Some(output.unwrap_or_else(built));
        Ok(Self { name: project.name, recipe: Recipe::Plugport, output, root: project.root })
    }

    /// The program and its arguments.
    pub(super) fn command(&self) -> (OsString, Vec<OsString>) {
        let (program, args): (OsString, &[&str]) = match &self.recipe {
            Recipe::Cargo => return ("cargo".into(), cargo_options::build()),
            Recipe::Npm => ("npm".into(), &["run", "build"]),
            Recipe::Make => ("make".into(), &[]),
            Recipe::Command(command) => ("sh".into(), &["-c", command]),
            Recipe::Plugport => {
                let program =
                    std::env::current_exe().map_or_else(|_| "plugport".into(), PathBuf::into_os_string);
                // Not loaded: the server will load it.
                (program, &["build", ".", "--no-load", "--output"])
            }
        };
        let output = self.output.as_ref().filter(|_| self.recipe == Recipe::Plugport);
        let args = args.iter().map(OsString::from).chain(output.map(|file| file.clone().into_os_string()));
        (program, args.collect())
    }
}

impl Recipe {
    /// The command as a user would type it.
    pub(super) fn in_words(&self) -> &str {
        match self {
            Self::Cargo => "cargo build --release --target wasm32-wasip2",
            Self::Npm => "npm run build",
            Self::Make => "make",
            Self::Plugport => OWN_SCRIPT,
            Self::Command(command) => command,
        }
    }
}

fn name(root: &Path, package: Option<&Value>) -> String {
    project::name(root, package.and_then(|package| package.get("name")?.as_str()))
}

/// The recipe of the project's own files.
fn recognise(folder: &ProjectDir, package: Option<&Value>) -> Option<Recipe> {
    if folder.has("Cargo.toml") {
        return Some(Recipe::Cargo);
    }
    let script = package.and_then(|package| package.pointer("/scripts/build"));
    match script.map(Value::as_str) {
        Some(Some(script)) if script.trim() == OWN_SCRIPT => return None,
        Some(_) => return Some(Recipe::Npm),
        None => {}
    }
    let makefiles = ["Makefile", "makefile", "GNUmakefile"];
    makefiles.into_iter().any(|name| folder.has(name)).then_some(Recipe::Make)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The project with these files, whose texts come after `=`.
    fn found(files: &[&str], build: Option<&str>) -> Result<Project, String> {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("My tool");
        std::fs::create_dir(&root).unwrap();
        for file in files {
            let (name, text) = file.split_once('=').unwrap_or((file, ""));
            std::fs::write(root.join(name), text).unwrap();
        }
        let args = cli::Dev {
            project: root,
            config: None,
            listen: None,
            build: build.map(str::to_owned),
            output: None,
        };
        Project::find(&args).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_project_brings_along_comes_before_this_programs_own_way() {
        let (jco, own) = (
            r#"package.json={"scripts":{"build":"jco"}}"#,
            r#"package.json={"scripts":{"build":"plugport build"}}"#,
        );
        for (files, recipe) in [
            (&["Cargo.toml", jco][..], Recipe::Cargo),
            (&[jco, "Makefile"], Recipe::Npm),
            (&[own, "Makefile"], Recipe::Plugport),
            (&["package.json={}", "Makefile"], Recipe::Make),
            (&["package.json={}"], Recipe::Plugport),
            (&["GNUmakefile", "main.c"], Recipe::Make),
            (&["pyproject.toml"], Recipe::Plugport),
            (&["go.mod"], Recipe::Plugport),
            (&["plugin.c"], Recipe::Plugport),
        ] {
            assert_eq!(found(files, None).unwrap().recipe, recipe, "{files:?}");
        }
        assert!(found(&["README.md"], None).unwrap_err().contains("none of Cargo.toml"));
    }

    #[test]
    fn this_programs_own_build_is_told_where_to_write_what_is_served() {
        let project = found(&["plugin.toml=name = 'my-tool'"], None).unwrap();
        let (program, args) = project.command();
        assert_eq!(program, std::env::current_exe().unwrap());
        let output = project.root.join(".plugport-dev/built.wasm");
        assert_eq!(args, ["build", ".", "--no-load", "--output", output.to_str().unwrap()]);
        assert_eq!((project.name.as_str(), project.recipe.in_words()), ("my-tool", "plugport build"));
        assert_eq!(project.output, Some(output));
    }

    #[test]
    fn a_command_that_is_given_wins_and_the_project_names_the_plugin() {
        let project = found(&["package.json={"], Some("sh build.sh")).unwrap();
        assert_eq!((project.name.as_str(), project.recipe.in_words()), ("My-tool", "sh build.sh"));
        assert_eq!(project.command(), ("sh".into(), ["-c", "sh build.sh"].map(OsString::from).to_vec()));
        let named =
            found(&[r#"package.json={"name":"@me/fetch.it","scripts":{"build":"x"}}"#], None).unwrap();
        assert_eq!(named.name, "fetch-it");
        assert_eq!(named.output, None);
    }
}
