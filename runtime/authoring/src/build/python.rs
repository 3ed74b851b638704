//! Python: componentize-py puts the plugin's module, the SDK and the interpreter into one component.
//!
//! Its world has the host's interfaces that the sources of the plugin import, and those that `pyproject.toml` names.
//!
//! componentize-py makes another component each time, since the image of the started interpreter has random numbers and
//! times of the build in it. So a build of the same inputs takes the component of an earlier one (`build_cache`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::build_cache::BuildCache;
use super::composed_world::world_of;
use super::dev_files::{MAX_SOURCES, tool_stamp};
use super::error::BuildError;
use super::known_inputs::KnownInputs;
use super::python_imports::used_worlds;
use super::python_inputs::{PythonBuilder, PythonInputs};
use super::python_syntax::check_syntax;
use super::tool_command::ToolCommand;
use super::toolchain::{Toolchain, with_pip};
use super::{BuiltComponent, output, read_made};
use crate::project::Project;
use crate::project::host_world::HostWorld;
use crate::project::packages::COMPONENTIZE_PY;
use crate::project::python_sources::sources;

/// The module of the SDK that loads sources as data.
const DEV_SOURCES: &str = "plugport_sdk/dev_sources.py";

/// The plugin's module in a component of `plugport dev`, and its folder in the scratch folder.
const DEV_APP: &str = "plugport_dev";

/// Builds the component. `output`: the file that it will be in, if the author names one. `loads_sources`: for
/// `plugport dev`, one that can load other sources.
pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
    cache: &BuildCache,
    output: Option<&Path>,
    loads_sources: bool,
) -> Result<BuiltComponent, BuildError> {
    let componentize = tools.require("componentize-py", &with_pip(&project.root, COMPONENTIZE_PY))?;
    if loads_sources {
        check_syntax(project, tools, &sources(&project.root)).await?;
    }
    let builder = PythonBuilder::new(componentize);
    let given = given(project, scratch, loads_sources)?;
    let copied = async {
        cache.check()?;
        given.copied(builder.clone(), scratch, output.and_then(output::real_path)).await
    };
    let (given, known) = KnownInputs::or_here(copied.await, given);
    let made = scratch.join("plugin.wasm");
    let command = command(&builder, &project.root).args(given.arguments(&made));
    let make = async {
        command.run().await?;
        read_made(&made)
    };
    Ok(BuiltComponent::made(project, cache.component(known, make).await?))
}

/// What componentize-py is given, where it is in the project.
fn given(project: &Project, scratch: &Path, loads_sources: bool) -> Result<PythonInputs, BuildError> {
    let worlds = if loads_sources { dev_worlds(project) } else { worlds(project) };
    let dev_app = if loads_sources { Some(write_dev_app(project, scratch)?) } else { None };
    Ok(PythonInputs {
        wit: world_of(project, None, &worlds, scratch)?,
        app: if loads_sources { DEV_APP } else { app(project) }.to_owned(),
        project: project.root.clone(),
        sdk: project.root.join(sdk(project)),
        dev_app,
    })
}

fn command(builder: &PythonBuilder, root: &Path) -> ToolCommand {
    // Without a backtrace of the tool itself behind what Python says.
    let command = ToolCommand::new(&builder.program, root).env("RUST_BACKTRACE", "0");
    match (&builder.own, &builder.active) {
        // Otherwise it takes the packages of whichever Python comes first in PATH.
        (Some(own), None) => command.env("VIRTUAL_ENV", own),
        _ => command,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        let manifest = Default::default();
        Project { root: "/".into(), language: crate::cli::Language::Python, name: "x".to_owned(), manifest }
    }

    #[test]
    fn the_project_says_where_its_module_and_its_sdk_are() {
        let given = |project: &Project| {
            let scratch = tempfile::tempdir().unwrap();
            let given = given(project, scratch.path(), false).unwrap();
            (given.app, given.sdk)
        };
        let mut project = Project { root: "/none/p".into(), ..project() };
        assert_eq!(given(&project), ("plugin".to_owned(), "/none/p/sdk/src".into()));
        (project.manifest.app, project.manifest.sdk) = (Some("app.main".to_owned()), Some("../sdk".into()));
        assert_eq!(given(&project), ("app.main".to_owned(), "/none/p/../sdk/src".into()));
    }

    #[test]
    fn the_worlds_are_those_of_the_sources_and_those_that_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut project = Project { root: dir.path().to_owned(), ..project() };
        assert_eq!(worlds(&project), []);
        std::fs::write(dir.path().join("plugin.py"), "from plugport_sdk import config, http").unwrap();
        assert_eq!(worlds(&project), [HostWorld::Http, HostWorld::Config]);
        project.manifest.worlds = vec![HostWorld::Keyvalue, HostWorld::Http];
        assert_eq!(worlds(&project), [HostWorld::Http, HostWorld::Keyvalue, HostWorld::Config]);
    }

    #[tokio::test]
    async fn what_is_missing_is_named() {
        let tools = Toolchain::in_folders(Vec::new());
        let cache = BuildCache::new(None);
        let missing = build(&project(), &tools, Path::new("/"), &cache, None, false).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("pip install componentize-py==0.25.1"));
    }
}
