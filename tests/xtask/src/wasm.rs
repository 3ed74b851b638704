//! Builds components from Rust sources into `target/`.
//!
//! The components have a build folder of their own: with the main one two cargos would wait for each other's lock, and
//! a test that builds its guests already runs below a cargo. A component is written beside its path and renamed, and
//! only when it differs, so that a server that watches the folder sees complete files and only real changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

pub(crate) const TARGET: &str = "wasm32-wasip2";

/// The build folder of the plugins, of all test guests and of a new project of the tests, which have most dependencies
/// in common.
pub(crate) const RUST_BUILD: &str = "plugins-build";

/// Settings for the host's compiler that would break or needlessly rebuild a component: sanitizers, coverage wrappers,
/// a default target.
const HOST_SETTINGS: &[&str] = &[
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Installs Rust's WebAssembly target if it is missing.
pub(crate) fn require_target(repository: &Repository) -> Outcome {
    if has_target(repository) {
        return Ok(());
    }
    run_command::step(&format!("Installing the Rust target {TARGET}"), "", || add_target(repository))
}

fn has_target(repository: &Repository) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(repository.root()).args(["--print", "target-libdir", "--target", TARGET]);
    let Ok(output) = rustc.output() else { return false };
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}

fn add_target(repository: &Repository) -> Outcome {
    let mut rustup = Command::new("rustup");
    rustup.current_dir(repository.root()).args(["target", "add", TARGET]);
    match rustup.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::new(format!(
            "rustup could not install {TARGET}; run `rustup target add {TARGET}` with a network connection and start again"
        ))),
        Err(_) => Err(Failure::new(format!(
            "Rust's target {TARGET} is missing and there is no rustup to install it; install rustup from \
             https://rustup.rs, run `rustup target add {TARGET}` and start again"
        ))),
    }
}

/// A `cargo build` of components in `folder`, with a build folder called `into` in `target/`.
pub(crate) fn build(repository: &Repository, folder: &Path, into: &str) -> Command {
    let mut command = run_command::cargo(repository.root());
    command.args(["build", "--release", "--locked", "--target", TARGET, "--manifest-path"]);
    command.arg(repository.relative(&folder.join("Cargo.toml")));
    command.arg("--target-dir").arg(repository.relative(&repository.target(into)));
    set_component_environment(&mut command);
    // As `plugport build` does, which would compile dependencies again otherwise.
    if let Some(home) = cargo_home().filter(|home| !home.to_string_lossy().contains(char::is_whitespace)) {
        command.env("CARGO_BUILD_RUSTFLAGS", format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    command
}

/// Takes what is meant for the host's compiler out of the environment of a command.
pub(crate) fn set_component_environment(command: &mut Command) {
    for setting in HOST_SETTINGS {
        command.env_remove(setting);
    }
}

/// Where cargo has the sources of dependencies.
fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// Copies `NAME.wasm` for every name from a build folder to its destination.
pub(crate) fn publish(names: &BTreeSet<String>, built: &Path, to: &Path) -> Outcome {
    for name in names {
        let source = built.join(format!("{}.wasm", name.replace('-', "_")));
        let bytes = std::fs::read(&source).map_err(|error| {
            Failure::new(format!(
                "cannot read {}: {error}; the package or example must be called `{name}` and be a cdylib",
                source.display()
            ))
        })?;
        if replace_if_changed(&bytes, &to.join(format!("{name}.wasm")))? {
            eprintln!("  {name}.wasm, {} KiB", bytes.len().div_ceil(1024));
        }
    }
    Ok(())
}

/// Copies one component to its destination.
pub(crate) fn publish_as(built: &Path, to: &Path) -> Outcome {
    let bytes = std::fs::read(built).map_err(|error| cannot("read", built, error))?;
    if replace_if_changed(&bytes, to)? {
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        eprintln!("  {name}, {} KiB", bytes.len().div_ceil(1024));
    }
    Ok(())
}

/// The folder in which cargo leaves components of a build by [`build`].
pub(crate) fn built(repository: &Repository, into: &str) -> PathBuf {
    repository.target(into).join(TARGET).join("release")
}

/// Writes a file by renaming, in a folder that it creates if need be, unless the file has these bytes already. Returns
/// whether it was written.
fn replace_if_changed(bytes: &[u8], path: &Path) -> Outcome<bool> {
    if std::fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| cannot("create", folder, error))?;
    }
    // Another process, or a thread of this one, may write the same file.
    static WRITES: AtomicUsize = AtomicUsize::new(0);
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{write}.tmp", std::process::id()));
    std::fs::write(&beside, bytes).map_err(|error| cannot("write", &beside, error))?;
    std::fs::rename(&beside, path).map_err(|error| cannot("replace", path, error))?;
    Ok(true)
}

fn cannot(verb: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::new(format!("cannot {verb} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("plugport-xtask-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_is_replaced_only_when_it_differs() {
        let folder = scratch("place").join("not-there-yet");
        let path = folder.join("a.wasm");
        let written = [b"one", b"one", b"two"].map(|bytes| replace_if_changed(bytes, &path).unwrap());
        assert_eq!(written, [true, false, true]);
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        std::fs::remove_dir_all(scratch("place")).unwrap();
    }

    #[test]
    fn a_component_that_was_not_built_is_named() {
        let folder = scratch("publish");
        let names = BTreeSet::from(["no-such".to_owned()]);
        let failure = publish(&names, &folder, &folder).unwrap_err().to_string();
        assert!(failure.contains("no_such.wasm") && failure.contains("`no-such`"), "{failure}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn settings_for_the_host_do_not_reach_a_component() {
        let repository = Repository::here();
        let command = build(&repository, &repository.plugins(), RUST_BUILD);
        let removed: Vec<_> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert!(removed.iter().any(|name| *name == "RUSTFLAGS"), "{removed:?}");
        let line = run_command::line(&command);
        assert!(
            line.contains("--manifest-path plugins/Cargo.toml --target-dir target/plugins-build"),
            "{line}"
        );
    }
}
