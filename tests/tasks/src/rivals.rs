//! `cargo measure rivals`: builds and installs the servers that `tests/rivals` measures, and starts its driver.
//!
//! Plugport and the servers in Rust are built one after the other: in one build they would share the features of their
//! dependencies, and Plugport would not be the program that people run. The servers in other languages are installed
//! into `target/rivals`; without Python or Node.js they are left out.

use std::path::Path;
use std::process::Command;

use crate::guests;
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

/// The guest that Plugport serves meanwhile.
const GUEST: &str = "rivals";

/// What was installed from, kept beside it.
const STAMP: &str = "installed";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Outcome {
    let guest = [GUEST.to_owned()];
    run_command::step("Building the guest", "", || guests::run(repository, &guest))?;
    let note = "(about 15 minutes the first time)";
    run_command::step("Building Plugport", note, || build(repository, "plugport"))?;
    run_command::step("Building the servers in Rust", "", || build(repository, "plugport-rivals"))?;
    install(repository, "fastmcp", "requirements.txt", python)?;
    install(repository, "typescript", "package.json", node)?;
    let mut driver = Command::new(repository.root().join("target/release/rivals"));
    driver.current_dir(repository.root()).args(arguments);
    run_command::step("Measuring", "", || run_command::run(driver))
}

/// Builds the programs of a package as they are published, into `target/release`.
fn build(repository: &Repository, package: &str) -> Outcome {
    let mut cargo = run_command::cargo(repository.root());
    cargo.args(["build", "--locked", "--release", "--bins", "--package", package]);
    cargo.arg("--target-dir").arg(repository.root().join("target"));
    run_command::run(cargo)
}

/// Installs a server in another language, unless it is there. One that cannot be installed is left out.
fn install(
    repository: &Repository,
    name: &str,
    requirements: &str,
    install: impl FnOnce(&Path, &Path) -> Outcome,
) -> Outcome {
    let source = repository.root().join("tests/rivals/servers").join(name);
    let folder = repository.target("rivals").join(name);
    let stamp = folder.join(STAMP);
    let required = std::fs::read(source.join(requirements)).map_err(|error| cannot(&source, &error))?;
    std::fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    if !std::fs::read(&stamp).is_ok_and(|installed| installed == required) {
        let what = format!("Installing the server {name}");
        if let Err(failure) = run_command::step(&what, "", || install(&source, &folder)) {
            eprintln!("{failure}");
            return Ok(());
        }
        std::fs::write(&stamp, required).map_err(|error| cannot(&stamp, &error))?;
    }
    // The script is newer than the packages beside which node finds it.
    let script = Path::new("server.mjs");
    if source.join(script).is_file() {
        std::fs::copy(source.join(script), folder.join(script)).map_err(|error| cannot(&folder, &error))?;
    }
    Ok(())
}

fn python(source: &Path, folder: &Path) -> Outcome {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    run_command::run(venv)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    pip.arg(source.join("requirements.txt"));
    run_command::run(pip)
}

fn node(source: &Path, folder: &Path) -> Outcome {
    let file = "package.json";
    std::fs::copy(source.join(file), folder.join(file)).map_err(|error| cannot(folder, &error))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.args(["--loglevel", "error"]).current_dir(folder).stdout(std::io::stderr());
    run_command::run(npm)
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use {}: {error}", path.display()))
}
