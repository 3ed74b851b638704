//! JavaScript and TypeScript: esbuild bundles the plugin and its imports into one module without types, and
//! componentize-qjs puts this into a component with QuickJS.
//!
//! Both are dependencies of the project in `package.json`; in an npm workspace they are in a folder above.
//!
//! componentize-qjs makes another component each time, since the engine's image has random numbers of the build in it.
//! So a build of the same bundle takes the component of an earlier one.
//!
//! The globals of browsers that the SDK supplies, such as `fetch`, are injected where the plugin names them. A plugin
//! that uses none has none in its bundle, and its world has no interface that the bundle does not import.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use plugport_common::shell_quote;

use super::build_cache::BuildCache;
use super::composed_world::{needed, world_of};
use super::error::BuildError;
use super::inputs::Inputs;
use super::tool_command::ToolCommand;
use super::toolchain::{ToolError, Toolchain, at_least, is_program, tool_output};
use super::wit_world::WitWorld;
use super::{BuiltComponent, read_made};
use crate::project::Project;
use crate::project::host_world::HostWorld;

const NODE: &str = "Node.js 20 or newer, from https://nodejs.org, or on Debian: apt install nodejs npm";

/// Usual paths of the plugin's module, if `package.json` names none.
const ENTRIES: [&str; 4] = ["src/plugin.ts", "src/plugin.js", "plugin.ts", "plugin.js"];

/// Options of esbuild: one module of modern JavaScript, whose only imports are those from the host. `async` becomes
/// generators over a `Promise` of the SDK, since the engine would settle promises only after a call.
const BUNDLE: [&str; 10] = [
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--main-fields=module,main",
    "--target=es2023",
    "--external:plugport:*",
    "--external:wasi:*",
    "--supported:async-await=false",
    "--supported:async-generator=false",
    "--supported:for-await=false",
];

/// The scope of npm with the packages of componentize-qjs for each kind of machine.
const MACHINE_PACKAGES: &str = "@andreiltd";

/// What the SDK's `globals.js` exports. Code that names one as a member of `globalThis` gets it too.
const GLOBALS: [&str; 9] = [
    "AbortController",
    "AbortSignal",
    "fetch",
    "Headers",
    "ReadableStream",
    "Request",
    "Response",
    "URLSearchParams",
    "URL",
];

/// The tools and the SDK that npm has installed.
#[derive(Debug)]
struct NodeModules {
    esbuild: PathBuf,
    componentize: PathBuf,
    sdk: PathBuf,
}

pub(super) async fn build(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
    cache: &BuildCache,
) -> Result<BuiltComponent, BuildError> {
    let root = &project.root;
    let node = tools.require("node", NODE)?;
    let version = tool_output(root, &node, &["--version"], &[]).await.unwrap_or_default();
    at_least("20", &version, "Node.js", NODE)?;
    let installed = NodeModules::find(root)?;
    let entry = entry(project)?;
    let (bundle, made) = (scratch.join("plugin.js"), scratch.join("plugin.wasm"));
    let worlds = installed.bundle(root, entry, &bundle).await?;
    let wit = world_of(project, Some(installed.sdk.join("wit")), &worlds, scratch)?;
    // The bundle has everything of the project and its packages that the component is made of.
    let inputs = installed.inputs(project, &bundle, &wit).ok();
    if let Some(component) = inputs.as_deref().and_then(|inputs| cache.get(inputs)) {
        return Ok(BuiltComponent::cached(project, component));
    }
    // Without --sync the result is an asynchronous component, which the engine does not load.
    let args: [&Path; 9] = [
        "--sync".as_ref(),
        "-w".as_ref(),
        &wit.folder,
        "-n".as_ref(),
        wit.world.as_ref(),
        "-j".as_ref(),
        &bundle,
        "-o".as_ref(),
        &made,
    ];
    ToolCommand::new(&installed.componentize, root).args(args).run().await?;
    Ok(BuiltComponent::of_inputs(project, read_made(&made)?, inputs))
}

impl NodeModules {
    fn find(root: &Path) -> Result<Self, ToolError> {
        let missing = |what| ToolError::Missing { what, install: install(root) };
        let program = |name: &'static str| {
            find_module(root, &Path::new(".bin").join(name))
                .filter(|path| is_program(path))
                .ok_or_else(|| missing(name))
        };
        let sdk = find_module(root, Path::new("plugport-sdk")).ok_or_else(|| missing("plugport-sdk"))?;
        Ok(Self { esbuild: program("esbuild")?, componentize: program("componentize-qjs")?, sdk })
    }

    /// The digest of what the component is made of.
    fn inputs(&self, project: &Project, bundle: &Path, wit: &WitWorld) -> io::Result<String> {
        let mut inputs = Inputs::of(project)?;
        inputs.value(wit.world.as_bytes());
        inputs.folder(&wit.folder, &|_| false)?;
        inputs.file(bundle)?;
        // Its program is `bin/NAME` in its package, and it has a package for each kind of machine beside it.
        let program = self.componentize.canonicalize()?;
        for package in program.ancestors().nth(2).into_iter().flat_map(packages) {
            inputs.folder(&package, &|_| false)?;
        }
        Ok(inputs.digest())
    }

    /// Writes the bundle, and returns the worlds that it needs beside that of the SDK.
    async fn bundle(&self, root: &Path, entry: PathBuf, to: &Path) -> Result<Vec<HostWorld>, BuildError> {
        let metafile = to.with_extension("json");
        let globals = GLOBALS.map(|name| OsString::from(format!("--define:globalThis.{name}={name}")));
        let paths = [
            option("--inject:", &self.sdk.join("src/globals.js")),
            option("--metafile=", &metafile),
            option("--outfile=", to),
        ];
        let args = [entry.into_os_string()].into_iter().chain(BUNDLE.map(OsString::from));
        let args = args.chain(globals).chain(paths);
        // Prints warnings and errors only.
        ToolCommand::new(&self.esbuild, root).args(args).args(["--log-level=warning"]).run().await?;
        needed(&read_made(&metafile)?)
    }
}

/// The package of componentize-qjs and the folder of those for machines.
fn packages(package: &Path) -> impl Iterator<Item = PathBuf> {
    let machines = package.parent().map(|beside| beside.join(MACHINE_PACKAGES)).filter(|path| path.is_dir());
    [package.to_owned()].into_iter().chain(machines)
}

/// An option whose value is a path.
fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// The nearest `node_modules` entry of this name, in the project or above it.
fn find_module(root: &Path, name: &Path) -> Option<PathBuf> {
    root.ancestors().map(|folder| folder.join("node_modules").join(name)).find(|path| path.exists())
}

/// The command to install packages, with the folder, since the user may be in another one.
fn install(root: &Path) -> String {
    format!("(cd {} && npm install)", shell_quote(root))
}

fn entry(project: &Project) -> Result<PathBuf, BuildError> {
    let there = |entry: &PathBuf| project.root.join(entry).is_file();
    match &project.manifest.entry {
        Some(entry) if there(entry) => Ok(entry.clone()),
        Some(entry) => Err(BuildError::NoEntry(project.root.join(entry))),
        None => ENTRIES
            .map(PathBuf::from)
            .into_iter()
            .find(there)
            .ok_or_else(|| BuildError::NoEntry(project.root.join("src/plugin.js"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_program::write_program;
    use super::*;

    fn project(root: &Path) -> Project {
        let (language, manifest) = (crate::cli::Language::JavaScript, Default::default());
        Project { root: root.to_owned(), language, name: "x".to_owned(), manifest }
    }

    fn put(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_program(&path, text);
    }

    #[test]
    fn what_npm_has_not_installed_is_named_with_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("plugin");
        let missing = |what: &str| {
            let said = NodeModules::find(&root).unwrap_err().to_string();
            assert!(said.starts_with(what) && said.contains("npm install"), "{said}");
        };
        missing("plugport-sdk is not installed; install it: (cd ");
        put(&root, "node_modules/plugport-sdk/package.json", "{}");
        missing("esbuild");
        put(dir.path(), "node_modules/.bin/esbuild", "");
        missing("componentize-qjs");
        put(&root, "node_modules/.bin/componentize-qjs", "");
        let found = NodeModules::find(&root).unwrap();
        assert_eq!(found.esbuild, dir.path().join("node_modules/.bin/esbuild"));
        assert_eq!(found.sdk, root.join("node_modules/plugport-sdk"));
    }

    #[tokio::test]
    async fn node_itself_is_looked_for_first() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Toolchain::in_folders(Vec::new());
        let cache = BuildCache::new(None);
        let missing = build(&project(dir.path()), &tools, dir.path(), &cache).await.err().unwrap();
        assert!(missing.is_usage() && missing.to_string().contains("https://nodejs.org"), "{missing}");
    }

    #[test]
    fn the_globals_are_those_of_the_sdk() {
        let file = crate::project::embedded::file("sdk/typescript/src/globals.js").unwrap();
        let text = std::str::from_utf8(file).unwrap();
        let mut exported: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("export { ")?.split_once(" }"))
            .flat_map(|(names, _)| names.split(", "))
            .collect();
        let mut known = GLOBALS;
        exported.sort_unstable();
        known.sort_unstable();
        assert_eq!(exported, known);
    }

    #[test]
    fn the_entry_is_what_the_package_says_or_where_it_usually_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut project = project(dir.path());
        assert!(entry(&project).unwrap_err().to_string().contains("src/plugin.js is not there"));
        put(dir.path(), "src/plugin.ts", "");
        assert_eq!(entry(&project).unwrap(), Path::new("src/plugin.ts"));
        project.manifest.entry = Some("lib/x.js".into());
        assert!(entry(&project).unwrap_err().is_usage());
        put(dir.path(), "lib/x.js", "");
        assert_eq!(entry(&project).unwrap(), Path::new("lib/x.js"));
    }
}
