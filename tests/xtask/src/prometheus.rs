//! Prometheus and its `promtool`, for the tests of metrics.
//!
//! Debian's package is unpacked below `target` and not installed: installing it would start a server on the machine.

use std::path::Path;
use std::sync::OnceLock;

use crate::debian;
use crate::repository::Repository;
use crate::run_command::{self, Outcome};

const PACKAGE: &str = "prometheus";

/// With this variable a test that does not find the programs fails.
pub(crate) const IS_INSTALLED: &str = "PLUGPORT_PROMETHEUS_IS_INSTALLED";

/// Whether the programs are below `target`, after they were unpacked where that is possible. A second call awaits the
/// first.
pub(crate) fn prepare(repository: &Repository) -> Outcome<bool> {
    static FOUND: OnceLock<Outcome<bool>> = OnceLock::new();
    // `tests/support/prometheus.rs` looks there.
    let folder = repository.root().join("target/prometheus");
    FOUND.get_or_init(|| find_or_unpack(&folder)).clone()
}

fn find_or_unpack(folder: &Path) -> Outcome<bool> {
    let version_there = || run_command::version(folder.join("usr/bin/prometheus"));
    let version = debian::find_or_unpack(PACKAGE, folder, version_there)?;
    match &version {
        Some(version) => eprintln!("metrics are tried with {version}"),
        None => {
            eprintln!("the tests with Prometheus are skipped: it is unpacked only on Debian as root");
        }
    }
    Ok(version.is_some())
}
