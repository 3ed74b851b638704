//! Packages of Debian, for programs that neither cargo, npm nor PyPI has.
//!
//! They are installed or unpacked only where that disturbs nobody, on Debian as root, which is what CI is. Elsewhere
//! the program that is there is used, or what needs it is skipped with a message. No exact version is asked for,
//! because Debian keeps only the newest one: the version is printed instead.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run_command::{self, Failure, Outcome};

/// The version of a program, after its package was installed if that is needed and possible; `None`: it is missing.
pub(crate) fn find_or_install(
    package: &str,
    version: impl Fn() -> Option<String>,
) -> Outcome<Option<String>> {
    find_or(version, package, "Installing", || {
        run_command::run(apt(&["update"]))?;
        run_command::run(apt(&["install", "--yes", "--no-install-recommends", package]))
    })
}

/// The same with a package that is unpacked into a folder, so that none of its services starts.
pub(crate) fn find_or_unpack(
    package: &str,
    folder: &Path,
    version: impl Fn() -> Option<String>,
) -> Outcome<Option<String>> {
    find_or(version, package, "Unpacking", || {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
        // One of another version may lie there.
        while let Some(old) = downloaded(folder) {
            std::fs::remove_file(&old)
                .map_err(|error| Failure::new(format!("{}: {error}", old.display())))?;
        }
        run_command::run(apt(&["update"]))?;
        let mut download = apt(&["-o", "APT::Sandbox::User=root", "download", package]);
        download.current_dir(folder);
        run_command::run(download)?;
        unpack(folder)
    })
}

fn find_or(
    version: impl Fn() -> Option<String>,
    package: &str,
    doing: &str,
    work: impl FnOnce() -> Outcome,
) -> Outcome<Option<String>> {
    let found = version();
    if found.is_some() || !is_debian() || !is_root() {
        return Ok(found);
    }
    run_command::step(&format!("{doing} {package}"), "", work)?;
    let installed = version().ok_or_else(|| Failure::new(format!("{package} is there and does not run")))?;
    Ok(Some(installed))
}

/// Unpacks the package that was downloaded to a folder.
pub(crate) fn unpack(folder: &Path) -> Outcome {
    let package = downloaded(folder).ok_or_else(|| Failure::new("apt-get has downloaded no package"))?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(package).arg(folder);
    run_command::run(unpack)
}

fn downloaded(folder: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.find(|file| file.extension().is_some_and(|extension| extension == "deb"))
}

/// Other systems with apt have other packages.
pub(crate) fn is_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    release.lines().any(|line| line == "ID=debian")
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// `apt-get`, which asks nothing.
pub(crate) fn apt(words: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-qq", "-o", "DPkg::Lock::Timeout=300"]).args(words);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    command
}
