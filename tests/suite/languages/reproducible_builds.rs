//! The same sources are the same component in every folder. `template_readmes` calls this with projects that it has
//! built, since building takes long.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugport_tests::build::{build_program, root};
use plugport_tests::command::output;
use plugport_tests::languages::set_author_environment;
use plugport_tests::server::program;
use serde_json::Value;

/// Languages whose builders make another component each time, so that only the cache has the same.
const CACHED: [&str; 3] = ["typescript", "javascript", "python"];

/// Builds a second project of a template in another folder. `project`: the first one, which is built already.
pub(super) fn is_the_same_in_another_folder(template: &str, project: &Path, path: &OsStr) {
    let first = std::fs::read(component(project)).unwrap();
    let other = tempfile::tempdir().unwrap();
    let second = copy(template, project, &other.path().join("a folder with a longer path"));
    let mut build = build_program();
    build.args(["build", "--no-load", "--json"]).current_dir(&second);
    let (code, out, err) = output(set_author_environment(&mut build, path));
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let is_cached = CACHED.contains(&template);
    assert_eq!(report["cached"], is_cached, "{report}");
    let bytes = std::fs::read(component(&second)).unwrap();
    let differs = || first.iter().zip(&bytes).position(|(one, other)| one != other);
    assert!(
        first == bytes,
        "{template}: {} and {} bytes differ at {:?}",
        first.len(),
        bytes.len(),
        differs()
    );
    if !is_cached {
        has_no_paths_of_this_machine(template, &first, project);
    }
}

/// Writes the project anew below a folder, with what was installed for the first one.
fn copy(template: &str, project: &Path, folder: &Path) -> PathBuf {
    std::fs::create_dir(folder).unwrap();
    let name = project.file_name().unwrap();
    let mut new = program();
    new.arg("new").arg(name).args(["--lang", template]).current_dir(folder);
    let (code, _, err) = output(&mut new);
    assert_eq!(code, Some(0), "{err}");
    let copy = folder.join(name);
    let [packages, environment] = ["node_modules", ".venv"].map(|installed| project.join(installed));
    if packages.exists() {
        // They link to the SDK of the project that they are in.
        let (code, _, err) = output(Command::new("cp").arg("-a").args([&packages, &copy]));
        assert_eq!(code, Some(0), "{err}");
    }
    if environment.exists() {
        std::os::unix::fs::symlink(environment, copy.join(".venv")).unwrap();
    }
    copy
}

fn component(project: &Path) -> PathBuf {
    project.join(project.file_name().unwrap()).with_extension("wasm")
}

/// Another machine would have others.
fn has_no_paths_of_this_machine(template: &str, component: &[u8], project: &Path) {
    let home = std::env::var_os("CARGO_HOME").unwrap_or_else(|| "/.cargo/registry".into());
    for path in [project, &root().join("target"), Path::new(&home)] {
        let path = path.as_os_str().as_encoded_bytes();
        let is_there = component.windows(path.len()).any(|window| window == path);
        assert!(!is_there, "{template}: the component names {}", String::from_utf8_lossy(path));
    }
}
