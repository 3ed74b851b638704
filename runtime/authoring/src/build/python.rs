//! Python: componentize-py puts the plugin's module, the SDK and the interpreter into one component.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::BuildError;
use super::tool_command::ToolCommand;
use super::toolchain::{Toolchain, with_pip};
use super::wit_world::WitWorld;
use super::{BuiltComponent, read_made};
use crate::project::Project;

/// The version that was tested.
const COMPONENTIZE: &str = "componentize-py==0.25.1";

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
) -> Result<BuiltComponent, BuildError> {
    let componentize = tools.require("componentize-py", &with_pip(&project.root, COMPONENTIZE))?;
    let wit = WitWorld::of(project, None, scratch)?;
    let output = scratch.join("plugin.wasm");
    ToolCommand::new(&componentize, &project.root).args(arguments(project, &wit, &output)).run().await?;
    Ok(BuiltComponent::new(project, read_made(&output)?))
}

fn arguments(project: &Project, wit: &WitWorld, output: &Path) -> Vec<OsString> {
    let manifest = &project.manifest;
    let app = manifest.app.as_deref().unwrap_or("plugin");
    let sdk = manifest.sdk.clone().unwrap_or_else(|| PathBuf::from("sdk")).join("src");
    let mut args: Vec<OsString> =
        vec!["-d".into(), wit.folder.clone().into(), "-w".into(), (&wit.world).into()];
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
        assert_eq!(said(&project), "-d /w -w plugin componentize plugin -p . -p sdk/src -o /o.wasm");
        (project.manifest.app, project.manifest.sdk) = (Some("app.main".to_owned()), Some("../sdk".into()));
        assert_eq!(said(&project), "-d /w -w plugin componentize app.main -p . -p ../sdk/src -o /o.wasm");
    }

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let tools = Toolchain::in_folders(Vec::new());
        let missing = build(&project(), &tools, Path::new("/")).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("pip install componentize-py==0.25.1"));
    }
}
