//! Python: componentize-py puts the plugin's module, the SDK and the interpreter into one component.
//!
//! Its world has the host's interfaces that the sources of the plugin import, and those that `pyproject.toml` names.
//!
//! componentize-py makes another component each time, since the image of the started interpreter has random numbers and
//! times of the build in it. So a build of the same inputs takes the component of an earlier one (`build_cache`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::build_cache::BuildCache;
use super::composed_world::world_of;
use super::dev_files::{MAX_SOURCES, tool_stamp};
use super::error::BuildError;
use super::inputs::Inputs;
use super::python_imports::used_worlds;
use super::python_syntax::check_syntax;
use super::tool_command::ToolCommand;
use super::toolchain::{Toolchain, with_pip};
use super::wit_world::WitWorld;
use super::{BuiltComponent, read_made};
use crate::project::Project;
use crate::project::host_world::HostWorld;
use crate::project::packages::COMPONENTIZE_PY;
use crate::project::python_sources::sources;

/// Interfaces, and the modules that the SDK expects for them. Without these options a module's name depends on what
/// else the world has. An interface that the world lacks does no harm.
const MODULES: [&str; 3] = [
    "plugport:plugin/types@0.1.0=types",
    "wasi:keyvalue/store@0.2.0-draft2=keyvalue_store",
    "wasi:config/store@0.2.0-rc.1=config_store",
];

/// The file of a virtual environment.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";

/// The module of the SDK that loads sources as data.
const DEV_SOURCES: &str = "plugport_sdk/dev_sources.py";

/// The plugin's module in a component of `plugport dev`, and its folder in the scratch folder.
const DEV_APP: &str = "plugport_dev";

/// Builds the component. `loads_sources`: for `plugport dev`, one that can load other sources.
pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
    cache: &BuildCache,
    loads_sources: bool,
) -> Result<BuiltComponent, BuildError> {
    let componentize = tools.require("componentize-py", &with_pip(&project.root, COMPONENTIZE_PY))?;
    if loads_sources {
        check_syntax(project, tools, &sources(&project.root)).await?;
    }
    let worlds = if loads_sources { dev_worlds(project) } else { worlds(project) };
    let wit = world_of(project, None, &worlds, scratch)?;
    let output = scratch.join("plugin.wasm");
    let app = if loads_sources { Some(write_dev_app(project, scratch)?) } else { None };
    let mut command = ToolCommand::new(&componentize, &project.root)
        .args(arguments(project, &wit, app.as_deref(), &output))
        // Without a backtrace of the tool itself behind what Python says.
        .env("RUST_BACKTRACE", "0");
    let (own, active) = (environment(&componentize), std::env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    if let (Some(own), None) = (own, &active) {
        // Otherwise it takes the packages of whichever Python comes first in PATH.
        command = command.env("VIRTUAL_ENV", own);
    }
    let other = active.as_deref().filter(|active| Some(*active) != own);
    let environments: Vec<&Path> = own.into_iter().chain(other).collect();
    // Without an environment of its own, nobody knows what componentize-py is.
    let inputs = || own.and_then(|_| inputs(project, &wit, app.as_deref(), &environments).ok());
    let make = async {
        command.run().await?;
        read_made(&output)
    };
    Ok(BuiltComponent::made(project, cache.component(inputs, make).await?))
}

/// The virtual environment in which componentize-py is installed.
fn environment(componentize: &Path) -> Option<&Path> {
    componentize.parent()?.parent().filter(|folder| folder.join(ENVIRONMENT_MARK).is_file())
}

/// The digest of what the component is made of: the options, the interfaces, the files that the interpreter can read
/// when it starts, and the packages of the environments, of which componentize-py is one.
fn inputs(
    project: &Project,
    wit: &WitWorld,
    dev_app: Option<&Path>,
    environments: &[&Path],
) -> io::Result<String> {
    let mut inputs = Inputs::default();
    // Without the paths of temporary folders.
    let named = WitWorld { folder: "wit".into(), world: wit.world.clone() };
    let options = arguments(project, &named, dev_app.and(Some(Path::new("dev"))), Path::new("output"));
    inputs.value(format!("{options:?}").as_bytes());
    inputs.folder(&wit.folder, &|_| false)?;
    let sdk = project.root.join(sdk(project));
    for folder in
        [project.root.as_path(), sdk.as_path()].into_iter().chain(dev_app).filter(|folder| folder.is_dir())
    {
        inputs.folder(folder, &is_no_input)?;
    }
    for environment in environments {
        inputs.below(&environment.join("lib"), &is_bytecode, &mut add_package_file)?;
    }
    Ok(inputs.digest())
}

/// Hidden files, output of builds, and environments.
fn is_no_input(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_output = name.ends_with(b".wasm") || is_bytecode(path);
    name.starts_with(b".") || is_output || path.join(ENVIRONMENT_MARK).is_file()
}

fn is_bytecode(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "__pycache__")
}

/// A file of an installed package. Sources count by their contents. All others, which may be large, count by their
/// sizes and by the digests in the package's list of files.
fn add_package_file(inputs: &mut Inputs, file: &Path) -> io::Result<()> {
    if file.file_name().is_some_and(|name| name == "RECORD") {
        let list = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        // The programs of an environment have its path in them.
        list.lines().filter(|line| !line.starts_with("..")).for_each(|line| inputs.value(line.as_bytes()));
        return Ok(());
    }
    if file.extension().is_some_and(|end| ["py", "pth", "toml"].iter().any(|source| end == *source)) {
        return inputs.file(file);
    }
    inputs.value(&std::fs::metadata(file)?.len().to_le_bytes());
    Ok(())
}

/// The sources of the plugin by their paths, in JSON. `None` if they cannot be data: the project has a world of its own
/// or an older SDK, or they are too large or not in UTF-8.
pub(super) fn sources_as_data(project: &Project) -> Option<String> {
    let root = &project.root;
    let is_usual = project.manifest.world.is_none() && !root.join("wit").is_dir();
    if !is_usual || !root.join(sdk(project)).join(DEV_SOURCES).is_file() {
        return None;
    }
    let mut files = BTreeMap::new();
    let mut left = MAX_SOURCES;
    for file in sources(root) {
        let text = std::fs::read_to_string(&file).ok()?;
        left = left.checked_sub(text.len())?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        files.insert(file.strip_prefix(root).ok()?.to_str()?.to_owned(), text);
    }
    serde_json::to_string(&files).ok()
}

/// What a component is made of besides the project's files. `dev_worlds` always has the settings, but the SDK's module
/// for them is only in a component whose sources imported it.
pub(super) fn base_parts(project: &Project, tools: &Toolchain) -> Result<[String; 2], BuildError> {
    let componentize = tools.require("componentize-py", &with_pip(&project.root, COMPONENTIZE_PY))?;
    Ok([tool_stamp(&componentize), format!("{:?}", worlds(project))])
}

/// Like `worlds`, with the settings, through which sources are read.
fn dev_worlds(project: &Project) -> Vec<HostWorld> {
    let used = worlds(project);
    HostWorld::ALL.into_iter().filter(|world| *world == HostWorld::Config || used.contains(world)).collect()
}

/// Writes the module whose exports are those of the present sources; returns its folder.
fn write_dev_app(project: &Project, scratch: &Path) -> Result<PathBuf, BuildError> {
    let folder = scratch.join(DEV_APP);
    let text = format!(
        "from plugport_sdk import dev_sources\n\nTools, Resources, Prompts, Completions = dev_sources.exports({:?})\n",
        app(project)
    );
    std::fs::create_dir(&folder)
        .and_then(|()| std::fs::write(folder.join(format!("{DEV_APP}.py")), text))
        .map_err(BuildError::Scratch)?;
    Ok(folder)
}

/// What the plugin uses beside the usual world.
fn worlds(project: &Project) -> Vec<HostWorld> {
    let used = used_worlds(&project.root);
    let is_used = |world: &HostWorld| used.contains(world) || project.manifest.worlds.contains(world);
    HostWorld::ALL.into_iter().filter(is_used).collect()
}

fn app(project: &Project) -> &str {
    project.manifest.app.as_deref().unwrap_or("plugin")
}

fn sdk(project: &Project) -> PathBuf {
    project.manifest.sdk.clone().unwrap_or_else(|| PathBuf::from("sdk")).join("src")
}

/// The arguments of componentize-py. `dev_app`: the folder of the module for `plugport dev`.
fn arguments(project: &Project, wit: &WitWorld, dev_app: Option<&Path>, output: &Path) -> Vec<OsString> {
    let app = if dev_app.is_some() { DEV_APP } else { app(project) };
    let mut args: Vec<OsString> =
        vec!["-d".into(), wit.folder.clone().into(), "-w".into(), (&wit.world).into()];
    args.extend(
        MODULES.into_iter().flat_map(|module| ["--import-interface-name", module]).map(OsString::from),
    );
    args.extend(["componentize", app, "-p", "."].map(OsString::from));
    args.extend(["-p".into(), sdk(project).into_os_string()]);
    args.extend(dev_app.into_iter().flat_map(|folder| ["-p".into(), folder.into()]));
    args.extend(["-o".into(), output.into()]);
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        let manifest = Default::default();
        Project { root: "/".into(), language: crate::cli::Language::Python, name: "x".to_owned(), manifest }
    }

    #[test]
    fn the_project_says_where_its_module_and_its_sdk_are() {
        let wit = WitWorld { folder: "/w".into(), world: "plugin".to_owned() };
        let made = Path::new("/o.wasm");
        let said = |project: &Project| arguments(project, &wit, None, made).join(std::ffi::OsStr::new(" "));
        let mut project = project();
        let ends = |project: &Project, end: &str| said(project).to_string_lossy().ends_with(end);
        assert!(said(&project).to_string_lossy().starts_with("-d /w -w plugin --import-interface-name "));
        assert!(ends(&project, "=config_store componentize plugin -p . -p sdk/src -o /o.wasm"));
        (project.manifest.app, project.manifest.sdk) = (Some("app.main".to_owned()), Some("../sdk".into()));
        assert!(ends(&project, "=config_store componentize app.main -p . -p ../sdk/src -o /o.wasm"));
    }

    #[test]
    fn the_worlds_are_those_of_the_sources_and_those_that_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut project = Project { root: dir.path().to_owned(), ..project() };
        assert_eq!(worlds(&project), []);
        std::fs::write(dir.path().join("plugin.py"), "from plugport_sdk import config, http").unwrap();
        assert_eq!(worlds(&project), [HostWorld::Http, HostWorld::Config]);
        project.manifest.worlds = vec![HostWorld::Keyvalue, HostWorld::Http];
        assert_eq!(worlds(&project), HostWorld::ALL);
    }

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let tools = Toolchain::in_folders(Vec::new());
        let cache = BuildCache::new(None);
        let missing = build(&project(), &tools, Path::new("/"), &cache, false).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("pip install componentize-py==0.25.1"));
    }
}
