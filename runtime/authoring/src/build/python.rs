//! Python: componentize-py puts the plugin's module, the SDK and the interpreter into one component.
//!
//! Its world has the host's interfaces that the sources of the plugin import, and those that `pyproject.toml` names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::composed_world::world_of;
use super::error::BuildError;
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

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
) -> Result<BuiltComponent, BuildError> {
    let componentize = tools.require("componentize-py", &with_pip(&project.root, COMPONENTIZE_PY))?;
    let wit = world_of(project, None, &worlds(project), scratch)?;
    let output = scratch.join("plugin.wasm");
    ToolCommand::new(&componentize, &project.root).args(arguments(project, &wit, &output)).run().await?;
    Ok(BuiltComponent::new(project, read_made(&output)?))
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
    let sdk = manifest.sdk.clone().unwrap_or_else(|| PathBuf::from("sdk")).join("src");
    let mut args: Vec<OsString> =
        vec!["-d".into(), wit.folder.clone().into(), "-w".into(), (&wit.world).into()];
    args.extend(
        MODULES.into_iter().flat_map(|module| ["--import-interface-name", module]).map(OsString::from),
    );
    args.extend(["componentize", app, "-p", "."].map(OsString::from));
    args.extend(["-p".into(), sdk.into_os_string(), "-o".into(), output.into()]);
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
        let missing = build(&project(), &tools, Path::new("/")).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("pip install componentize-py==0.25.1"));
    }
}
