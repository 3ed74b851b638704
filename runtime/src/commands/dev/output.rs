//! Which file a build has made. Cargo says it; of every other build it is the newest component that lies in the project
//! afterwards, and a person who has several says which.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use super::project::valid_name;
use super::walk::{is_hidden, walk};
use crate::reload::Stamp;

/// How a component begins; a core module has another layer after the version.
const COMPONENT: &[u8; 8] = b"\0asm\x0d\0\x01\0";

/// How a core module begins.
const CORE: &[u8; 8] = b"\0asm\x01\0\0\0";

/// What a build has made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) file: PathBuf,
    /// What the build calls it.
    pub(super) name: Option<String>,
}

/// Why it is not known what a build has made.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    #[error(
        "cargo made no .wasm file of this package; write crate-type = [\"cdylib\"] under [lib] in its Cargo.toml"
    )]
    NoLibrary,
    #[error("the build left no component in the project; name what it makes with --output FILE.wasm")]
    None,
    #[error("it is not known which of these the build is for: {}; name one with --output FILE.wasm", named(.0))]
    Several(Vec<PathBuf>),
    #[error(
        "the build made a core module and no component: {file}; build for the target wasm32-wasip2, or let the build make \
         a component of it: wasm-tools component new {file} -o plugin.wasm, with --adapt \
         wasi_snapshot_preview1=wasi_snapshot_preview1.reactor.wasm when it was compiled for wasip1",
        file = .0.display()
    )]
    Core(PathBuf),
}

fn named(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What cargo says that it has made of one package.
#[derive(Debug)]
pub(super) struct Artifacts {
    manifest: PathBuf,
    libraries: Vec<Made>,
    programs: Vec<Made>,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    target: Target,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize, Default)]
struct Target {
    #[serde(default)]
    kind: Vec<String>,
}

impl Artifacts {
    /// Of the package in `root`.
    pub(super) fn of(root: &Path) -> Self {
        Self { manifest: root.join("Cargo.toml"), libraries: Vec::new(), programs: Vec::new() }
    }

    /// Takes a line that cargo printed, if it is a message.
    pub(super) fn take(&mut self, line: &str) -> bool {
        let Ok(message) = serde_json::from_str::<Message>(line) else { return false };
        if message.reason != "compiler-artifact" || message.manifest_path != self.manifest {
            return true;
        }
        let name = package_name(&message.package_id);
        let library = message.target.kind.iter().any(|kind| kind == "cdylib");
        let list = if library { &mut self.libraries } else { &mut self.programs };
        let components = message.filenames.into_iter().filter(|file| is_wasm(file));
        list.extend(components.map(|file| Made { file, name: name.clone() }));
        true
    }

    /// The one: a library before programs, which are no plugins but tell the author so.
    pub(super) fn one(self) -> Result<Made, OutputError> {
        let mut found = if self.libraries.is_empty() { self.programs } else { self.libraries };
        match (found.pop(), found.is_empty()) {
            (Some(made), true) => Ok(made),
            (Some(made), false) => {
                found.push(made);
                Err(OutputError::Several(found.into_iter().map(|made| made.file).collect()))
            }
            (None, _) => Err(OutputError::NoLibrary),
        }
    }
}

/// The package's name from its id: `path+file:///folder/name#1.0.0`, or `path+file:///folder#name@1.0.0`.
fn package_name(id: &str) -> Option<String> {
    let (place, fragment) = id.rsplit_once('#')?;
    let name = match fragment.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next()?,
    };
    Some(valid_name(name))
}

/// How the modules and components of a project look.
pub(super) type Components = BTreeMap<PathBuf, Look>;

/// How one of them looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    stamp: Stamp,
    modified: SystemTime,
    is_component: bool,
}

/// The modules and components that lie in the project, but for those of others.
pub(super) fn components(root: &Path) -> Components {
    let mut found = Components::new();
    let others = |path: &Path| is_hidden(path) || path.ends_with("node_modules") || path.ends_with("deps");
    walk(root, others, |path, is_folder| {
        if !is_folder && is_wasm(path) {
            found.extend(look(path).map(|look| (path.to_owned(), look)));
        }
    });
    found
}

fn look(path: &Path) -> Option<Look> {
    let begin = begin(path)?;
    let is_component = begin == *COMPONENT;
    if !is_component && !is_core(&begin) {
        return None;
    }
    let modified = std::fs::metadata(path).and_then(|about| about.modified()).ok()?;
    Some(Look { stamp: Stamp::of(path).ok()??, modified, is_component })
}

/// Whether these bytes are a core module, which many tools make on the way to a component.
pub(super) fn is_core(bytes: &[u8]) -> bool {
    bytes.starts_with(CORE)
}

fn is_wasm(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}

fn begin(path: &Path) -> Option<[u8; COMPONENT.len()]> {
    let mut begin = [0; COMPONENT.len()];
    // Opening anything else might wait for ever.
    let file = path.is_file().then(|| File::open(path))?;
    file.and_then(|mut file| file.read_exact(&mut begin)).ok()?;
    Some(begin)
}

/// The newest of those that the build made; of all, when it had nothing to do.
pub(super) fn newest(before: &Components, after: Components) -> Result<Made, OutputError> {
    let is_new = |path: &PathBuf, look: &Look| before.get(path) != Some(look);
    let (mut components, cores): (Components, Components) =
        after.into_iter().partition(|(_, look)| look.is_component);
    if components.iter().any(|(path, look)| is_new(path, look)) {
        components.retain(|path, look| is_new(path, look));
    } else if let Some((core, _)) =
        cores.into_iter().find(|(path, look)| components.is_empty() || is_new(path, look))
    {
        // What an earlier build has left is not what this one is about.
        return Err(OutputError::Core(core));
    }
    let latest = components.values().map(|look| look.modified).max();
    components.retain(|_, look| Some(look.modified) == latest);
    let mut found: Vec<PathBuf> = components.into_keys().collect();
    match (found.pop(), found.is_empty()) {
        (Some(file), true) => Ok(Made { file, name: None }),
        (Some(file), false) => {
            found.push(file);
            Err(OutputError::Several(found))
        }
        (None, _) => Err(OutputError::None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What cargo 1.95 printed for a package in `/p/my-tool` that uses another in `/p/helper`, without what is not
    /// read.
    const MESSAGES: [&str; 5] = [
        r#"{"reason":"compiler-artifact","package_id":"path+file:///p/my-tool#0.1.0","manifest_path":"/p/my-tool/Cargo.toml","target":{"kind":["custom-build"],"crate_types":["bin"],"name":"build-script-build"},"features":[],"filenames":["/p/my-tool/target/release/build/my-tool-c8dd53a1bc20ef5a/build-script-build"],"executable":null,"fresh":false}"#,
        r#"{"reason":"build-script-executed","package_id":"path+file:///p/my-tool#0.1.0","linked_libs":[],"linked_paths":[],"cfgs":[],"env":[],"out_dir":"/p/my-tool/target/wasm32-wasip2/release/build/my-tool-2e46d2cdb2dd1352/out"}"#,
        r#"{"reason":"compiler-artifact","package_id":"path+file:///p/helper#0.1.0","manifest_path":"/p/helper/Cargo.toml","target":{"kind":["cdylib","rlib"],"crate_types":["cdylib","rlib"],"name":"helper"},"features":[],"filenames":["/p/my-tool/target/wasm32-wasip2/release/deps/helper.wasm","/p/my-tool/target/wasm32-wasip2/release/deps/libhelper.rlib"],"executable":null,"fresh":false}"#,
        r#"{"reason":"compiler-artifact","package_id":"path+file:///p/my-tool#0.1.0","manifest_path":"/p/my-tool/Cargo.toml","target":{"kind":["cdylib"],"crate_types":["cdylib"],"name":"my_tool"},"profile":{"opt_level":"3"},"features":[],"filenames":["/p/my-tool/target/wasm32-wasip2/release/my_tool.wasm"],"executable":null,"fresh":false}"#,
        r#"{"reason":"build-finished","success":true}"#,
    ];

    #[test]
    fn the_artifact_is_the_library_of_the_projects_own_package() {
        let mut artifacts = Artifacts::of(Path::new("/p/my-tool"));
        assert!(MESSAGES.iter().all(|line| artifacts.take(line)));
        assert!(!artifacts.take("warning: something in words") && !artifacts.take("{}"));
        let file = PathBuf::from("/p/my-tool/target/wasm32-wasip2/release/my_tool.wasm");
        assert_eq!(artifacts.one().unwrap(), Made { file, name: Some("my-tool".to_owned()) });
    }

    #[test]
    fn a_package_without_a_library_or_with_several_files_is_told() {
        let none = Artifacts::of(Path::new("/elsewhere")).one().unwrap_err();
        assert!(none.to_string().contains("cdylib"), "{none}");
        let mut artifacts = Artifacts::of(Path::new("/p/my-tool"));
        for name in ["a", "b"] {
            let line = MESSAGES[3].replace("cdylib", "bin").replace("my_tool.wasm", &format!("{name}.wasm"));
            assert!(artifacts.take(&line));
        }
        let several = artifacts.one().unwrap_err().to_string();
        assert!(
            several.contains("a.wasm") && several.contains("b.wasm; name one with --output"),
            "{several}"
        );
    }

    #[test]
    fn packages_are_named_by_their_ids() {
        assert_eq!(package_name("path+file:///a/my-tool#0.1.0").as_deref(), Some("my-tool"));
        assert_eq!(package_name("path+file:///a/b#my-tool@0.1.0").as_deref(), Some("my-tool"));
        assert_eq!(package_name("my-tool 0.1.0 (path)"), None);
    }

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
        assert!(matches!(newest(&components(root), components(root)), Err(OutputError::None)));
        put("old.wasm", COMPONENT, 900);
        let before = components(root);
        put("out/core.wasm", b"\0asm\x01\0\0\0", 700);
        put("out/step.wasm", COMPONENT, 500);
        put("out/plugin.wasm", COMPONENT, 600);
        for other in ["node_modules/x/x.wasm", ".cache/x.wasm", "target/release/deps/x.wasm"] {
            put(other, COMPONENT, 800);
        }
        let after = components(root);
        assert_eq!(newest(&before, after.clone()).unwrap().file, root.join("out/plugin.wasm"));
        assert_eq!(newest(&after, after.clone()).unwrap().file, root.join("old.wasm"), "nothing was to do");
        put("out/step.wasm", COMPONENT, 600);
        assert!(
            matches!(newest(&before, components(root)), Err(OutputError::Several(files)) if files.len() == 2)
        );
    }

    #[test]
    fn a_core_module_is_no_component_and_it_is_said_how_to_make_one_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let none = Components::new();
        std::fs::write(dir.path().join("plugin.wasm"), CORE).unwrap();
        let core = newest(&none, components(dir.path())).unwrap_err().to_string();
        for said in ["plugin.wasm; build for the target wasm32-wasip2", "wasm-tools component new "] {
            assert!(core.contains(said), "{core}");
        }
        let before = components(dir.path());
        std::fs::write(dir.path().join("old.wasm"), COMPONENT).unwrap();
        let after = components(dir.path());
        assert_eq!(newest(&before, after.clone()).unwrap().file, dir.path().join("old.wasm"));
        assert!(newest(&after, after.clone()).is_ok(), "nothing was to do");
        std::fs::write(dir.path().join("new.wasm"), CORE).unwrap();
        let new = newest(&after, components(dir.path()));
        assert!(matches!(new, Err(OutputError::Core(file)) if file == dir.path().join("new.wasm")));
    }
}
