//! Folders with guests in them.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub use crate::build::{guest, plugin};

/// A plugins folder with these guests.
pub fn folder(guests: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in guests {
        copy(&guest(name), dir.path());
    }
    dir
}

/// Copies a component into a plugins folder, under its own name.
pub fn copy(component: &Path, folder: &Path) -> PathBuf {
    let target = folder.join(component.file_name().unwrap());
    std::fs::copy(component, &target).unwrap();
    target
}
