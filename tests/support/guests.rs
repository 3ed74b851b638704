//! Plugin folders with guests in them.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub use crate::build::{guest, plugin};

/// The configuration of a server whose lists wait for compiling.
pub const LONG_START: &str = "[server]\ninitial_load_wait_ms = 120_000\n";

/// A plugins folder with these guests.
pub fn folder(guests: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in guests {
        copy(&guest(name), dir.path());
    }
    dir
}

/// Lets a server that starts in this folder wait until it has compiled everything, since a stdio client cannot see when
/// that is done.
pub fn allow_long_start(folder: &Path) {
    let config = folder.join("plugport.toml");
    if !config.exists() {
        std::fs::write(config, LONG_START).unwrap();
    }
}

/// Copies a component into a plugins folder, under its own name.
pub fn copy(component: &Path, folder: &Path) -> PathBuf {
    let target = folder.join(component.file_name().unwrap());
    std::fs::copy(component, &target).unwrap();
    target
}
