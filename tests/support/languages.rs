//! Plugins in every language, built as an author would build them.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{build_program, guest, root, shared_cache_home, target};
use crate::toolchain;

pub use crate::toolchain::Lang;

/// The guest `features` in this language; `None` when its toolchain is missing and optional.
pub fn features(lang: Lang) -> Option<PathBuf> {
    match lang {
        Lang::Rust => Some(guest("features")),
        _ => build(lang, &format!("tests/guests/languages/{}", lang.name())),
    }
}

/// A plugin of `plugins` that cargo does not build; `None` as above.
pub fn plugin(lang: Lang, name: &str) -> Option<PathBuf> {
    build(lang, &format!("plugins/{name}"))
}

/// A project at this path from the root of the repository; `None` as above.
pub fn build_project(lang: Lang, project: &str) -> Option<PathBuf> {
    build(lang, project)
}

/// Gives a command what an author's shell has, with this `PATH`, so that it finds what other tests have compiled.
pub fn set_author_environment<'a>(command: &'a mut Command, path: &OsStr) -> &'a mut Command {
    // Projects share the target folder of the plugins, so that common dependencies compile once; the commands are the
    // same.
    command.env("CARGO_TARGET_DIR", root().join("target/plugins-build")).env_remove("RUSTFLAGS");
    // The compiler that a README installs need not compile the libraries of C and C++ again, which takes a minute.
    command.envs(toolchain::zig_library().map(|folder| ("ZIG_LIB_DIR", folder)));
    command.env("PATH", path).env("XDG_CACHE_HOME", shared_cache_home())
}

/// Builds a project to `target/languages`, where it has a folder of its own: its file keeps its name.
fn build(lang: Lang, project: &str) -> Option<PathBuf> {
    let path = toolchain::require(lang)?;
    let folder = target(Path::new("languages").join(project));
    // Test processes start together, and npm and Go do not support two builds of one project at once.
    let held = File::create(folder.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _held = held.expect("target/ can be locked");
    let name = Path::new(project).file_name().expect("a project has a name");
    let component = folder.join(name).with_extension("wasm");
    let mut build = build_program();
    // The test's server loads the component anyway, and an interpreter takes long to compile.
    build.args(["build", project, "--no-load", "-o"]).arg(&component);
    let output = build.current_dir(root()).env("PATH", path).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`plugport build {project}` failed:\n{said}");
    assert!(component.is_file(), "{} was not built:\n{said}", component.display());
    Some(component)
}
