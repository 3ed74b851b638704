//! The generated plugin of a language, built as an author would build it.
//!
//! It borrows the manifest of the guest `features`, so that both have the same dependencies. Its folder is as deep as
//! that guest's, since manifests name the SDK by its relative path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::kind::ArgumentType;
use super::{c, go, javascript, python, rust};
use crate::build::{root, target};
use crate::languages::build_project;
use crate::toolchain::Lang;

const CARGO_TOML: &str = r#"[package]
name = "argument-types"
version = "0.1.0"
edition = "2024"
license = "Apache-2.0"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
plugport-sdk = { path = "../../../../sdk-guest" }
schemars = "1.2.3"
serde = { version = "1.0.229", features = ["derive"] }
serde_json = "1.0.154"

[profile.release]
opt-level = "s"
panic = "abort"
strip = true

[workspace]
"#;

/// The component with these types; `None` when the language's toolchain is missing and optional.
pub fn component(lang: Lang, types: &[ArgumentType]) -> Option<PathBuf> {
    let folder = format!("target/argument-types/projects/{}", lang.name());
    let path = target(format!("argument-types/projects/{}", lang.name()));
    write(&path.join(source_file(lang)), &source(lang, types));
    let guest = root().join("tests/guests/languages").join(lang.name());
    for manifest in
        ["package.json", "package-lock.json", "tsconfig.json", "pyproject.toml", "go.mod", "plugin.toml"]
    {
        if let Ok(text) = fs::read_to_string(guest.join(manifest)) {
            write(&path.join(manifest), &text);
        }
    }
    link_packages(&guest.join("node_modules"), &path.join("node_modules"));
    if lang == Lang::Rust {
        write(&path.join("Cargo.toml"), CARGO_TOML);
        // The versions of the other guests; cargo leaves out what it does not need.
        let lock = path.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(root().join("tests/guests/Cargo.lock"), lock).unwrap();
        }
    }
    build_project(lang, &folder)
}

fn source_file(lang: Lang) -> &'static str {
    match lang {
        Lang::Rust => "src/lib.rs",
        Lang::TypeScript => "src/plugin.ts",
        Lang::JavaScript => "src/plugin.js",
        Lang::Python => "plugin.py",
        Lang::Go => "plugin.go",
        // C++ and Zig have the arguments of the SDK for C.
        Lang::C | Lang::Cpp | Lang::Zig => "src/plugin.c",
    }
}

fn source(lang: Lang, types: &[ArgumentType]) -> String {
    match lang {
        Lang::Rust => rust::source(types),
        Lang::TypeScript | Lang::JavaScript => javascript::source(types),
        Lang::Python => python::source(types),
        Lang::Go => go::source(types),
        Lang::C | Lang::Cpp | Lang::Zig => c::source(types),
    }
}

/// Lets the project use the packages of npm that are installed for the guest, if it has any.
fn link_packages(installed: &Path, packages: &Path) {
    if !installed.is_dir() || packages.exists() {
        return;
    }
    if packages.is_symlink() {
        fs::remove_file(packages).unwrap(); // it leads to a folder that is gone
    }
    symlink(installed, packages).unwrap();
}

/// Leaves a file alone that is right already: builds look at its time.
fn write(file: &Path, text: &str) {
    if fs::read_to_string(file).is_ok_and(|found| found == text) {
        return;
    }
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_packages_that_are_gone_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (installed, packages) = (folder.path().join("installed"), folder.path().join("node_modules"));
        link_packages(&installed, &packages);
        assert!(!packages.is_symlink());
        symlink(folder.path().join("gone"), &packages).unwrap();
        fs::create_dir(&installed).unwrap();
        for _ in 0..2 {
            link_packages(&installed, &packages);
            assert_eq!(fs::read_link(&packages).unwrap(), installed);
        }
    }
}
