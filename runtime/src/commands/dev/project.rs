//! What a project is written in, and so what builds it: told from the names of the files that lie in it. Only what
//! surely builds is guessed; where a language has no one way, a person has to say it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::catalog::plugin_name;
use crate::cli;

/// Commands that build what has no one way to be built. The last two take the adapter from where the project has it.
const PYTHON: &str = "componentize-py -d wit -w plugin componentize app -o plugin.wasm";
const C: &str = "wit-bindgen c wit --world plugin --out-dir bindings && \
    clang --target=wasm32-wasi -mexec-model=reactor -Os -Ibindings -o core.wasm *.c bindings/*.c bindings/*.o && \
    wasm-tools component new core.wasm --adapt wasi_snapshot_preview1=wasi_snapshot_preview1.reactor.wasm -o plugin.wasm";
const GO: &str = "wit-bindgen go wit --world plugin && \
    GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-checklinkname=0 -o core.wasm . && \
    wasm-tools component embed wit --world plugin core.wasm -o embedded.wasm && wasm-tools component new embedded.wasm \
    --adapt wasi_snapshot_preview1=wasi_snapshot_preview1.reactor.wasm -o plugin.wasm";

/// A plugin project.
#[derive(Debug)]
pub(super) struct Project {
    /// Its folder, without links on the way there: cargo names files so.
    pub(super) root: PathBuf,
    /// What it is called, unless the build knows better.
    pub(super) name: String,
    pub(super) recipe: Recipe,
    /// What the build makes, where a person has said it.
    pub(super) output: Option<PathBuf>,
}

/// How a project is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recipe {
    Cargo,
    Npm,
    Make,
    /// A command for the shell.
    Given(String),
}

/// Why it is not known how to build.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProjectError {
    #[error("cannot read the project {}; name the folder of a plugin project", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{} is not JSON; mend it, or name the command that builds the project with --build", .0.display())]
    Package(PathBuf, #[source] serde_json::Error),
    #[error(
        "package.json has no script `build`; add one, or name the command with --build, for example:\n  \
         plugport dev --build 'npx jco componentize \"$PWD/plugin.js\" --wit \"$PWD/wit\" -n plugin -o plugin.wasm'"
    )]
    NoScript,
    #[error(
        "it is not known how this {0} project is built; write a Makefile, or name the command with --build, for example:\n  \
         plugport dev --build '{1}'"
    )]
    NoCommand(&'static str, &'static str),
    #[error(
        "{} has none of Cargo.toml, package.json and Makefile; name another folder, or the command that builds it with \
         --build",
        .0.display()
    )]
    Unknown(PathBuf),
}

impl Project {
    pub(super) fn find(args: &cli::Dev) -> Result<Self, ProjectError> {
        let unreadable = |error| ProjectError::Unreadable(args.project.clone(), error);
        let root = args.project.canonicalize().map_err(unreadable)?;
        let mut files = BTreeSet::new();
        for entry in std::fs::read_dir(&root).map_err(unreadable)? {
            files.insert(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
        }
        let package = match package(&root) {
            // It is not needed then.
            Err(_) if args.build.is_some() => None,
            read => read?,
        };
        let recipe = match &args.build {
            Some(command) => Recipe::Given(command.clone()),
            None => recognise(&files, package.as_ref())
                .map_err(|error| error.unwrap_or_else(|| ProjectError::Unknown(root.clone())))?,
        };
        let named = package.as_ref().and_then(|package| package.get("name")?.as_str());
        let folder = root.file_name().unwrap_or_default().to_string_lossy();
        let name = valid_name(named.unwrap_or(&folder));
        Ok(Self { name, recipe, output: args.output.as_ref().map(|file| root.join(file)), root })
    }
}

impl Recipe {
    /// The program, and what it is told.
    pub(super) fn command(&self) -> (&'static str, Vec<&str>) {
        match self {
            Self::Cargo => {
                let args = ["build", "--release", "--target", "wasm32-wasip2"];
                let messages = "--message-format=json-render-diagnostics";
                ("cargo", args.into_iter().chain([messages]).collect())
            }
            Self::Npm => ("npm", vec!["run", "build"]),
            Self::Make => ("make", Vec::new()),
            Self::Given(command) => ("sh", vec!["-c", command]),
        }
    }

    /// As a person would type it.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Cargo => "cargo build --release --target wasm32-wasip2".to_owned(),
            Self::Given(command) => command.clone(),
            Self::Npm | Self::Make => {
                let (program, args) = self.command();
                [&[program], &args[..]].concat().join(" ")
            }
        }
    }
}

/// The recipe for a project with these files. `None` as an error: nothing in it is known.
fn recognise(files: &BTreeSet<String>, package: Option<&Value>) -> Result<Recipe, Option<ProjectError>> {
    let has = |name: &str| files.contains(name);
    let any = |end: &str| files.iter().any(|file| file.ends_with(end));
    if has("Cargo.toml") {
        return Ok(Recipe::Cargo);
    }
    if package.is_some_and(|package| package.pointer("/scripts/build").is_some()) {
        return Ok(Recipe::Npm);
    }
    if ["Makefile", "makefile", "GNUmakefile"].into_iter().any(has) {
        return Ok(Recipe::Make);
    }
    Err(if package.is_some() {
        Some(ProjectError::NoScript)
    } else if has("pyproject.toml") || any(".py") {
        Some(ProjectError::NoCommand("Python", PYTHON))
    } else if has("go.mod") {
        Some(ProjectError::NoCommand("Go", GO))
    } else if any(".c") {
        Some(ProjectError::NoCommand("C", C))
    } else {
        None
    })
}

fn package(root: &Path) -> Result<Option<Value>, ProjectError> {
    let path = root.join("package.json");
    match std::fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|error| ProjectError::Package(path, error))
        }
        Err(_) => Ok(None),
    }
}

/// A plugin's name that is as near as can be to what a project is called; the scope of an npm package goes.
pub(super) fn valid_name(called: &str) -> String {
    let last = called.rsplit('/').next().unwrap_or(called);
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = last.chars().map(valid).collect();
    let name = name.trim_matches('-');
    plugin_name(name).map_or_else(|_| "plugin".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recipe(files: &[&str], package: Option<Value>) -> Result<Recipe, String> {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let unknown =
            |error: Option<ProjectError>| error.map_or("unknown".to_owned(), |error| error.to_string());
        recognise(&files, package.as_ref()).map_err(unknown)
    }

    #[test]
    fn the_language_is_told_from_the_files() {
        let built = json!({ "scripts": { "build": "jco" } });
        assert_eq!(recipe(&["src", "Cargo.toml", "package.json"], Some(built.clone())), Ok(Recipe::Cargo));
        assert_eq!(recipe(&["package.json", "Makefile"], Some(built)), Ok(Recipe::Npm));
        assert_eq!(recipe(&["package.json", "Makefile"], Some(json!({}))), Ok(Recipe::Make));
        assert_eq!(recipe(&["GNUmakefile", "main.c"], None), Ok(Recipe::Make));
    }

    #[test]
    fn what_has_no_one_way_to_be_built_asks_for_a_command() {
        for (files, package, said) in [
            (&["package.json"][..], Some(json!({})), "no script `build`"),
            (&["pyproject.toml"], None, "--build 'componentize-py"),
            (&["app.py"], None, "this Python project"),
            (&["go.mod", "main.go"], None, "this Go project"),
            (&["plugin.c"], None, "this C project"),
            (&["README.md"], None, "unknown"),
        ] {
            let error = recipe(files, package).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        for (file, said) in [("go.mod", "--build 'wit-bindgen go wit"), ("plugin.c", "-o core.wasm *.c ")] {
            let error = recipe(&[file], None).unwrap_err();
            assert!(error.contains(said) && error.ends_with(".reactor.wasm -o plugin.wasm'"), "{error}");
        }
    }

    #[test]
    fn a_command_that_is_given_wins_and_the_project_names_the_plugin() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("My tool");
        std::fs::create_dir(&root).unwrap();
        let mut args = cli::Dev {
            project: root.clone(),
            config: None,
            listen: None,
            build: None,
            output: Some("out.wasm".into()),
        };
        assert!(Project::find(&args).unwrap_err().to_string().contains("none of Cargo.toml"));
        args.build = Some("sh build.sh".to_owned());
        let project = Project::find(&args).unwrap();
        assert_eq!((project.name.as_str(), project.recipe.in_words().as_str()), ("My-tool", "sh build.sh"));
        assert_eq!(project.output, Some(root.canonicalize().unwrap().join("out.wasm")));
        std::fs::write(root.join("package.json"), r#"{"name":"@me/fetch.it"}"#).unwrap();
        assert_eq!(Project::find(&args).unwrap().name, "fetch-it");
        assert_eq!(valid_name("…"), "plugin");
    }
}
