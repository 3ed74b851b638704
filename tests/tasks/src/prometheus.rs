//! Prometheus and its `promtool`, for the tests of metrics.
//!
//! Debian's package is unpacked below `target` and not installed: installing it would start a server on the machine.
//! The version is that of the machine's Debian, which keeps only one, and is printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::browser::{apt, is_debian, is_root};
use crate::repository::Repository;
use crate::run_command::{self, Failure, Outcome};

const PACKAGE: &str = "prometheus";

/// With this variable a test that does not find the programs fails.
pub(crate) const IS_INSTALLED: &str = "PLUGPORT_PROMETHEUS_IS_INSTALLED";

/// Whether the programs are below `target`, after they were unpacked where that is possible. A second call awaits the
/// first.
pub(crate) fn prepare(repository: &Repository) -> Outcome<bool> {
    static FOUND: OnceLock<Result<bool, String>> = OnceLock::new();
    // `tests/support/prometheus.rs` looks there.
    let folder = repository.root().join("target/prometheus");
    let found = FOUND.get_or_init(|| find_or_unpack(&folder).map_err(|failure| failure.to_string()));
    found.clone().map_err(Failure::new)
}

fn find_or_unpack(folder: &Path) -> Outcome<bool> {
    if let Some(version) = version(folder) {
        eprintln!("metrics are tried with {version}");
        return Ok(true);
    }
    if !is_debian() || !is_root() {
        eprintln!("the tests with Prometheus are skipped: it is unpacked only on Debian as root");
        return Ok(false);
    }
    run_command::step("Unpacking Prometheus", "", || {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
        // One of another version may lie there.
        while let Some(old) = package(folder) {
            std::fs::remove_file(&old)
                .map_err(|error| Failure::new(format!("{}: {error}", old.display())))?;
        }
        run_command::run(apt(&["update"]))?;
        let mut download = apt(&["-o", "APT::Sandbox::User=root", "download", PACKAGE]);
        download.current_dir(folder);
        run_command::run(download)?;
        let package = package(folder).ok_or_else(|| Failure::new("apt-get has downloaded no package"))?;
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(package).arg(folder);
        run_command::run(unpack)
    })?;
    let version =
        version(folder).ok_or_else(|| Failure::new(format!("{PACKAGE} is unpacked and does not run")))?;
    eprintln!("metrics are tried with {version}");
    Ok(true)
}

/// A package of Debian that lies in a folder.
pub(crate) fn package(folder: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.find(|file| file.extension().is_some_and(|extension| extension == "deb"))
}

fn version(folder: &Path) -> Option<String> {
    let mut command = Command::new(folder.join("usr/bin/prometheus"));
    let output = command.arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
