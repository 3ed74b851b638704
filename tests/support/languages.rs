//! The guest `features` in every language, built as an author would build it.

use std::path::PathBuf;
use std::process::Command;

use crate::build::{binary, guest, root};
use crate::toolchain;

pub use crate::toolchain::Lang;

/// The component in this language; `None` when what builds it is not there and need not be.
pub fn features(lang: Lang) -> Option<PathBuf> {
    let path = toolchain::require(lang)?;
    if lang == Lang::Rust {
        return Some(guest("features"));
    }
    let project = format!("tests/guests/languages/{}", lang.name());
    let folder = root().join("target/languages");
    std::fs::create_dir_all(&folder).expect("target/ can be written");
    let component = folder.join(format!("features-{}.wasm", lang.name()));
    let mut build = Command::new(binary());
    build.args(["build", &project, "-o"]).arg(&component).current_dir(root()).env("PATH", path);
    let output = build.output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`plugport build {project}` failed:\n{said}");
    assert!(component.is_file(), "{} was not built:\n{said}", component.display());
    Some(component)
}
