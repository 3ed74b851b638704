//! Decides how a project is built, from the names of its files. Cargo is run directly, so that its messages name the
//! component. A build script or a Makefile of the project comes before `plugport build`, which handles the rest.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use plugport_common::FILE_FOLDERS;
use serde_json::Value;

use super::workdir;
use crate::cli;
use crate::project::language::Language;
use crate::project::python_sources::is_python_source;
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
    /// The language, if this program builds it.
    pub(super) language: Option<Language>,
}

/// What a build is told whose component may load sources.
#[derive(Debug)]
pub(super) struct DataBuild {
    /// The digest of what is no data.
    pub(super) others: String,
    /// The server's configuration, if it has one.
    pub(super) config: Option<PathBuf>,
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
            return Ok(Self { name: name(&root, package.as_ref()), recipe, output, root, language: None });
        }
        let package = folder.package()?;
        if let Some(recipe) = recognise(&folder, package.as_ref()) {
            let root = folder.root;
            return Ok(Self { name: name(&root, package.as_ref()), recipe, output, root, language: None });
        }
        let language = folder.language(package.as_ref());
        let project = project::Project::of(folder, language, package)?;
        let built = || workdir::built(&project.root);
        let output = Some(output.unwrap_or_else(built));
        let (language, recipe) = (Some(project.language), Recipe::Plugport);
        Ok(Self { name: project.name, recipe, output, root: project.root, language })
    }

    /// Whether it may be built to a component that loads later sources as data. A file that the user named may be meant
    /// for a server, and has to be whole.
    pub(super) fn may_load_sources(&self) -> bool {
        self.is_interpreted() && self.output.as_ref() == Some(&workdir::built(&self.root))
    }

    /// Whether its component holds an interpreter, and is kept while its sources change. Others are compiled for each
    /// change.
    pub(super) fn is_interpreted(&self) -> bool {
        matches!(self.language, Some(Language::Python | Language::JavaScript | Language::TypeScript))
    }

    /// Whether its component may load a change of this file as data.
    pub(super) fn is_data(&self, file: &Path) -> bool {
        // Files in the component are no sources, whatever their names are.
        if FILE_FOLDERS.iter().any(|files| file.starts_with(self.root.join(files))) {
            return false;
        }
        match self.language {
            Some(Language::Python) => is_python_source(&self.root, file),
            // All of the project goes into its bundle.
            Some(Language::JavaScript | Language::TypeScript) => true,
            _ => false,
        }
    }

    /// A folder of files that its build does not put into the component.
    pub(super) fn unshipped(&self) -> Option<&'static str> {
        let is_there = |folder: &&str| self.root.join(folder).is_dir();
        FILE_FOLDERS.into_iter().find(is_there).filter(|_| self.recipe != Recipe::Plugport)
    }

    /// The program and its arguments. `data`: if the component may load sources.
    pub(super) fn command(&self, data: Option<&DataBuild>) -> (OsString, Vec<OsString>) {
        let (program, args): (OsString, &[&str]) = match &self.recipe {
            Recipe::Cargo => ("cargo".into(), &cargo_options::BUILD),
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
        let mut args: Vec<OsString> = args.collect();
        if let Some(data) = data.filter(|_| self.recipe == Recipe::Plugport) {
            let sources = workdir::built_sources(&self.root).into_os_string();
            let others = OsString::from(&data.others);
            args.extend(["--dev-sources".into(), sources, "--dev-others".into(), others]);
            let config = data.config.iter().flat_map(|file| [OsString::from("--dev-config"), file.into()]);
            args.extend(config);
        }
        (program, args)
    }
}

impl Recipe {
    /// What the environment of the command has besides.
    pub(super) fn environment(&self) -> Option<(&'static str, OsString)> {
        matches!(self, Self::Cargo).then(cargo_options::environment).flatten()
    }

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
        // Cargo alone puts no files into the component.
        let ships_files = FILE_FOLDERS.iter().any(|files| folder.has(files));
        return (!ships_files).then_some(Recipe::Cargo);
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
            (&["Cargo.toml=[package]\nname = \"x\"", "skills"], Recipe::Plugport),
        ] {
            assert_eq!(found(files, None).unwrap().recipe, recipe, "{files:?}");
        }
        assert!(found(&["README.md"], None).unwrap_err().contains("none of Cargo.toml"));
    }

    #[test]
    fn this_programs_own_build_is_told_where_to_write_what_is_served() {
        let project = found(&["plugin.toml=name = 'my-tool'"], None).unwrap();
        let (program, args) = project.command(None);
        assert_eq!(program, std::env::current_exe().unwrap());
        let output = project.root.join(".plugport-dev/built.wasm");
        assert_eq!(args, ["build", ".", "--no-load", "--output", output.to_str().unwrap()]);
        assert_eq!((project.name.as_str(), project.recipe.in_words()), ("my-tool", "plugport build"));
        assert_eq!(project.output, Some(output));
        let sources = project.root.join(".plugport-dev/built.sources");
        let data =
            ["--dev-sources", sources.to_str().unwrap(), "--dev-others", "d", "--dev-config", "/p.toml"];
        let build = DataBuild { others: "d".to_owned(), config: Some("/p.toml".into()) };
        assert_eq!(project.command(Some(&build)).1.get(5..).unwrap(), data);
    }

    #[test]
    fn what_a_component_can_load_as_data_is_known() {
        let mut project = found(&["plugin.py="], None).unwrap();
        assert!(project.may_load_sources() && !found(&["go.mod="], None).unwrap().may_load_sources());
        project.output = Some(project.root.join("my-tool.wasm"));
        assert!(!project.may_load_sources());
        let is_data = |file: &str| project.is_data(&project.root.join(file));
        assert!(is_data("plugin.py") && is_data("lib/x.py"));
        assert!(!is_data("sdk/src/plugport_sdk/tools.py") && !is_data("pyproject.toml"));
        for files in [&["plugin.py="][..], &["package.json={}"]] {
            let project = found(files, None).unwrap();
            let is_data = |file: &str| project.is_data(&project.root.join(file));
            assert!(!is_data("skills/review/scripts/x.py") && !is_data("ui/chart.html"), "{files:?}");
        }
        // The sources that are data have no tests, though a plugin may import one.
        assert!(!is_data("test_x.py") && !is_data("tests/x.py"));
        assert!(!found(&["go.mod="], None).unwrap().is_data(Path::new("/p/plugin.go")));
    }

    #[test]
    fn a_command_that_is_given_wins_and_the_project_names_the_plugin() {
        let project = found(&["package.json={"], Some("sh build.sh")).unwrap();
        assert_eq!((project.name.as_str(), project.recipe.in_words()), ("My-tool", "sh build.sh"));
        let build = DataBuild { others: "d".to_owned(), config: None };
        assert_eq!(
            project.command(Some(&build)),
            ("sh".into(), ["-c", "sh build.sh"].map(OsString::from).to_vec())
        );
        let named =
            found(&[r#"package.json={"name":"@me/fetch.it","scripts":{"build":"x"}}"#], None).unwrap();
        assert_eq!(named.name, "fetch-it");
        assert_eq!(named.output, None);
    }
}
