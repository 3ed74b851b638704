//! `cargo measure rivals`: builds and installs the servers that `tests/rivals` measures, and starts its driver.
//!
//! Plugport and the servers in Rust are built one after the other: in one build they would share the features of their
//! dependencies, and Plugport would not be the program that people run. The servers of other people are installed into
//! `target/rivals`; one that cannot be installed, as without Python or Node.js, is left out.

use std::path::Path;
use std::process::Command;

use crate::debian::is_debian;
use crate::guests;
use crate::newer_libc;
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};
use crate::wasm;

/// The guest that Plugport serves meanwhile.
const GUEST: &str = "rivals";

/// What was installed from, kept beside it.
const STAMP: &str = "installed";

/// Asks for hyper-mcp, which is installed by compiling it for many minutes. What is installed is measured from then on.
const WITH_HYPER_MCP: &str = "with=hyper-mcp";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Outcome {
    let (with, options): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| *argument == WITH_HYPER_MCP);
    let guest = [GUEST.to_owned()];
    run_command::step("Building the guest", "", || guests::run(repository, &guest))?;
    let note = "(about 15 minutes the first time)";
    run_command::step("Building Plugport", note, || build(repository, "plugport"))?;
    run_command::step("Building the servers in Rust", "", || build(repository, "plugport-rivals"))?;
    install(repository, "fastmcp", "requirements.txt", python)?;
    install(repository, "typescript", "package.json", node)?;
    install(repository, "act", "requirements.txt", python)?;
    install(repository, "wassette", "requirements.txt", wassette)?;
    if !with.is_empty() {
        install(repository, "hyper-mcp", "version", hyper_mcp)?;
    }
    run_command::step("Building the guests of other servers", "", || other_guests(repository))?;
    let mut driver = Command::new(repository.root().join("target/release/rivals"));
    driver.current_dir(repository.root()).args(options);
    run_command::step("Measuring", "", || run_command::run(driver))
}

/// Builds the programs of a package as they are published, into `target/release`.
fn build(repository: &Repository, package: &str) -> Outcome {
    let mut cargo = run_command::cargo(repository.root());
    cargo.args(["build", "--locked", "--release", "--bins", "--package", package]);
    cargo.arg("--target-dir").arg(repository.root().join("target"));
    run_command::run(cargo)
}

/// Builds the components of ACT and Wassette, and puts each where its server finds it.
fn other_guests(repository: &Repository) -> Outcome {
    let source = repository.root().join("tests/rivals/guests");
    run_command::run(wasm::build(repository, &source, wasm::RUST_BUILD))?;
    let built = wasm::built(repository, wasm::RUST_BUILD);
    wasm::publish_as(&built.join("rivals_act.wasm"), &repository.target("rivals/act/guest.wasm"))?;
    let components = repository.target("rivals/wassette/components");
    // Wassette keeps compiled code beside a component, and does not look which of the two is newer.
    if components.is_dir() {
        std::fs::remove_dir_all(&components).map_err(|error| cannot(&components, &error))?;
    }
    wasm::publish_as(&built.join("rivals_wassette.wasm"), &components.join("echo.wasm"))
}

/// Installs a server of other people, unless it is there. One that cannot be installed is left out.
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

/// The package has the program among its modules, and not as one that may be executed.
const UNPACK_WASSETTE: &str = "
import os, shutil, sys, wassette_cli
shutil.copy(os.path.join(os.path.dirname(wassette_cli.__file__), 'wassette'), sys.argv[1])
os.chmod(sys.argv[1], 0o755)
";

fn wassette(source: &Path, folder: &Path) -> Outcome {
    python(source, folder)?;
    let program = folder.join("program");
    let mut unpack = Command::new(folder.join("bin/python"));
    unpack.args(["-c", UNPACK_WASSETTE]).arg(&program);
    run_command::run(unpack)?;
    let starts = |mut command: Command| {
        command.arg("--version");
        run_command::succeeds(command)
    };
    if starts(Command::new(&program)) {
        return Ok(());
    }
    if is_debian() {
        let mut loader = newer_libc::unpack(&folder.join("libc"))?;
        loader.arg(&program);
        if starts(loader) {
            return Ok(());
        }
    }
    Err(Failure::new("Wassette needs glibc 2.39, or Debian, from which a newer one can be unpacked"))
}

fn hyper_mcp(source: &Path, folder: &Path) -> Outcome {
    let file = source.join("version");
    let version = std::fs::read_to_string(&file).map_err(|error| cannot(&file, &error))?;
    let mut cargo = run_command::cargo(folder);
    cargo.args(["install", "--locked", "--version", &format!("={}", version.trim()), "--root"]);
    cargo.arg(folder).arg("hyper-mcp");
    run_command::run(cargo)
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
