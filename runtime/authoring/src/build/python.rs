//! Python: componentize-py puts the plugin's module, the SDK and the interpreter into one component.
//!
//! Its world has the host's interfaces that the sources of the plugin import, and those that `pyproject.toml` names.
//!
//! componentize-py makes another component each time, since the image of the started interpreter has random numbers and
//! times of the build in it. So a build of the same inputs takes the component of an earlier one.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::build_cache::BuildCache;
use super::composed_world::world_of;
use super::error::BuildError;
use super::inputs::Inputs;
use super::python_imports::used_worlds;
use super::tool_command::ToolCommand;
use super::toolchain::{Toolchain, with_pip};
use super::wit_world::WitWorld;
use super::{BuiltComponent, read_made};
use crate::project::Project;
use crate::project::host_world::HostWorld;
use crate::project::packages::COMPONENTIZE_PY;

/// Interfaces, and the modules that the SDK expects for them. Without these options a module's name depends on what
/// else the world has. An interface that the world lacks does no harm.
const MODULES: [&str; 3] = [
    "plugport:plugin/types@0.1.0=types",
    "wasi:keyvalue/store@0.2.0-draft2=keyvalue_store",
    "wasi:config/store@0.2.0-rc.1=config_store",
];

/// The file of a virtual environment.
const ENVIRONMENT_MARK: &str = "pyvenv.cfg";

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
    cache: &BuildCache,
) -> Result<BuiltComponent, BuildError> {
    let componentize = tools.require("componentize-py", &with_pip(&project.root, COMPONENTIZE_PY))?;
    let wit = world_of(project, None, &worlds(project), scratch)?;
    let output = scratch.join("plugin.wasm");
    let environment = environment(&componentize);
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let inputs = || inputs(project, environment?, active.as_deref()).ok();
    let before = inputs();
    if let Some(component) = before.as_deref().and_then(|inputs| cache.get(inputs)) {
        return Ok(BuiltComponent::cached(project, component));
    }
    let mut command = ToolCommand::new(&componentize, &project.root);
    if let (Some(environment), None) = (environment, &active) {
        // Otherwise it takes the packages of whichever Python comes first in PATH.
        command = command.env("VIRTUAL_ENV", environment);
    }
    command.args(arguments(project, &wit, &output)).run().await?;
    // A source that changed meanwhile may be in the component or not.
    let inputs = before.filter(|before| inputs().as_ref() == Some(before));
    Ok(BuiltComponent::of_inputs(project, read_made(&output)?, inputs))
}

/// The virtual environment in which componentize-py is installed.
fn environment(componentize: &Path) -> Option<&Path> {
    componentize.parent()?.parent().filter(|folder| folder.join(ENVIRONMENT_MARK).is_file())
}

/// The digest of what the component is made of: the project, the SDK, and the packages of the environments.
/// componentize-py is one of them.
fn inputs(project: &Project, environment: &Path, active: Option<&Path>) -> io::Result<String> {
    let mut inputs = Inputs::of(project)?;
    inputs.folder(&project.root, &is_no_input)?;
    let sdk = project.root.join(sdk(project));
    if sdk.is_dir() {
        inputs.folder(&sdk, &is_no_input)?;
    }
    for environment in [environment].into_iter().chain(active.filter(|active| *active != environment)) {
        inputs.below(&environment.join("lib"), &is_no_input, &mut add_package_file)?;
    }
    Ok(inputs.digest())
}

/// Output of builds, what Python keeps for itself, and environments.
fn is_no_input(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(b".")
        || name == b"__pycache__"
        || name.ends_with(b".wasm")
        || path.join(ENVIRONMENT_MARK).is_file()
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

/// What the plugin uses beside the usual world.
fn worlds(project: &Project) -> Vec<HostWorld> {
    let used = used_worlds(&project.root);
    let is_used = |world: &HostWorld| used.contains(world) || project.manifest.worlds.contains(world);
    HostWorld::ALL.into_iter().filter(is_used).collect()
}

fn arguments(project: &Project, wit: &WitWorld, output: &Path) -> Vec<OsString> {
    let manifest = &project.manifest;
    let app = manifest.app.as_deref().unwrap_or("plugin");
    let mut args: Vec<OsString> =
        vec!["-d".into(), wit.folder.clone().into(), "-w".into(), (&wit.world).into()];
    args.extend(
        MODULES.into_iter().flat_map(|module| ["--import-interface-name", module]).map(OsString::from),
    );
    args.extend(["componentize", app, "-p", "."].map(OsString::from));
    args.extend(["-p".into(), sdk(project).into_os_string(), "-o".into(), output.into()]);
    args
}

/// The folder of the SDK's package, from the project's folder.
fn sdk(project: &Project) -> PathBuf {
    project.manifest.sdk.clone().unwrap_or_else(|| PathBuf::from("sdk")).join("src")
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
        let said = |project: &Project| arguments(project, &wit, made).join(std::ffi::OsStr::new(" "));
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
        let missing = build(&project(), &tools, Path::new("/"), &cache).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("pip install componentize-py==0.25.1"));
    }
}
