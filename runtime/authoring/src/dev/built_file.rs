//! Finds the component that a build has made. Cargo prints its path, and `plugport build` gets the path as an argument.
//! For every other build it is the newest component in the project; if there are several, the user names one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plugport_common::FileStat;

use super::walk::{is_hidden, walk};
use crate::project::cargo_artifacts::{ArtifactError, BuiltFile, named};

/// The header of a component; a core module has another layer after the version.
const COMPONENT: &[u8; 8] = b"\0asm\x0d\0\x01\0";

/// The header of a core module.
const CORE: &[u8; 8] = b"\0asm\x01\0\0\0";

/// Why the component of a build cannot be found.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuiltFileError {
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    #[error("the build left no component in the project; name what it makes with --output FILE.wasm")]
    None,
    #[error("it is not known which of these the build is for: {}; name one with --output FILE.wasm", named(.0))]
    Several(Vec<PathBuf>),
    #[error(
        "the build made a core module and no component: {file}; build for the target wasm32-wasip2, \
         or let the build make a component of it: wasm-tools component new {file} -o plugin.wasm, with --adapt \
         wasi_snapshot_preview1=wasi_snapshot_preview1.reactor.wasm when it was compiled for wasip1",
        file = .0.display()
    )]
    Core(PathBuf),
}

/// The modules and components of a project, by path.
pub(super) type WasmFiles = BTreeMap<PathBuf, WasmFile>;

/// The state of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WasmFile {
    stat: FileStat,
    modified: SystemTime,
    is_component: bool,
}

/// The modules and components of the project itself, without those of dependencies.
pub(super) fn wasm_files(root: &Path) -> WasmFiles {
    let mut files = WasmFiles::new();
    let is_excluded =
        |path: &Path| is_hidden(path) || path.ends_with("node_modules") || path.ends_with("deps");
    walk(root, is_excluded, |path, is_folder| {
        if !is_folder && is_wasm(path) {
            files.extend(read_wasm(path).map(|wasm| (path.to_owned(), wasm)));
        }
    });
    files
}

fn read_wasm(path: &Path) -> Option<WasmFile> {
    let header = read_header(path)?;
    let is_component = header == *COMPONENT;
    if !is_component && !is_core(&header) {
        return None;
    }
    let modified = std::fs::metadata(path).and_then(|about| about.modified()).ok()?;
    Some(WasmFile { stat: FileStat::of(path).ok()??, modified, is_component })
}

/// Whether these bytes are a core module, which many tools write before they write a component.
pub(super) fn is_core(bytes: &[u8]) -> bool {
    bytes.starts_with(CORE)
}

fn is_wasm(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}

fn read_header(path: &Path) -> Option<[u8; COMPONENT.len()]> {
    let mut header = [0; COMPONENT.len()];
    // Opening anything but a regular file may block for ever.
    let file = path.is_file().then(|| File::open(path))?;
    file.and_then(|mut file| file.read_exact(&mut header)).ok()?;
    Some(header)
}

/// The newest component that the build wrote, or the newest of all if it wrote none.
pub(super) fn newest(before: &WasmFiles, after: WasmFiles) -> Result<BuiltFile, BuiltFileError> {
    let is_new = |path: &PathBuf, wasm: &WasmFile| before.get(path) != Some(wasm);
    let (mut components, cores): (WasmFiles, WasmFiles) =
        after.into_iter().partition(|(_, wasm)| wasm.is_component);
    if components.iter().any(|(path, wasm)| is_new(path, wasm)) {
        components.retain(|path, wasm| is_new(path, wasm));
    } else if let Some((core, _)) =
        cores.into_iter().find(|(path, wasm)| components.is_empty() || is_new(path, wasm))
    {
        // Components of earlier builds do not count if this build made a core module.
        return Err(BuiltFileError::Core(core));
    }
    let latest = components.values().map(|wasm| wasm.modified).max();
    components.retain(|_, wasm| Some(wasm.modified) == latest);
    let mut files: Vec<PathBuf> = components.into_keys().collect();
    match (files.pop(), files.is_empty()) {
        (Some(file), true) => Ok(BuiltFile { file, name: None }),
        (Some(file), false) => {
            files.push(file);
            Err(BuiltFileError::Several(files))
        }
        (None, _) => Err(BuiltFileError::None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_component_that_the_build_made_is_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let put = |file: &str, bytes: &[u8], seconds: u64| {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        assert!(matches!(newest(&wasm_files(root), wasm_files(root)), Err(BuiltFileError::None)));
        put("old.wasm", COMPONENT, 900);
        let before = wasm_files(root);
        put("out/core.wasm", b"\0asm\x01\0\0\0", 700);
        put("out/step.wasm", COMPONENT, 500);
        put("out/plugin.wasm", COMPONENT, 600);
        for other in ["node_modules/x/x.wasm", ".cache/x.wasm", "target/release/deps/x.wasm"] {
            put(other, COMPONENT, 800);
        }
        let after = wasm_files(root);
        assert_eq!(newest(&before, after.clone()).unwrap().file, root.join("out/plugin.wasm"));
        assert_eq!(newest(&after, after.clone()).unwrap().file, root.join("old.wasm"), "nothing was to do");
        put("out/step.wasm", COMPONENT, 600);
        assert!(
            matches!(newest(&before, wasm_files(root)), Err(BuiltFileError::Several(files)) if files.len() == 2)
        );
    }

    #[test]
    fn a_core_module_is_no_component_and_it_is_said_how_to_make_one_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let none = WasmFiles::new();
        std::fs::write(dir.path().join("plugin.wasm"), CORE).unwrap();
        let core = newest(&none, wasm_files(dir.path())).unwrap_err().to_string();
        for said in ["plugin.wasm; build for the target wasm32-wasip2", "wasm-tools component new "] {
            assert!(core.contains(said), "{core}");
        }
        let before = wasm_files(dir.path());
        std::fs::write(dir.path().join("old.wasm"), COMPONENT).unwrap();
        let after = wasm_files(dir.path());
        assert_eq!(newest(&before, after.clone()).unwrap().file, dir.path().join("old.wasm"));
        assert!(newest(&after, after.clone()).is_ok(), "nothing was to do");
        std::fs::write(dir.path().join("new.wasm"), CORE).unwrap();
        let new = newest(&after, wasm_files(dir.path()));
        assert!(matches!(new, Err(BuiltFileError::Core(file)) if file == dir.path().join("new.wasm")));
    }
}
