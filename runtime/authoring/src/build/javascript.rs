//! JavaScript and TypeScript: esbuild bundles the plugin and its imports into one module without types, and
//! componentize-qjs puts this into a component with QuickJS.
//!
//! Both are dependencies of the project in `package.json`; in an npm workspace they are in a folder above.
//!
//! componentize-qjs makes another component each time, since the engine's image has random numbers of the build in it.
//! So a build of the same bundle takes the component of an earlier one (`build_cache`).
//!
//! The globals of browsers that the SDK supplies, such as `fetch`, are injected where the plugin names them. A plugin
//! that uses none has none in its bundle, and its world has no interface that the bundle does not import.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use plugport_common::shell_quote;

use super::build_cache::BuildCache;
use super::composed_world::{imports, needed, world_of};
use super::dev_files::tool_stamp;
use super::error::BuildError;
use super::javascript_inputs::{BUILDER, JsBuilder, JsInputs, VARIABLES};
use super::known_inputs::KnownInputs;
use super::not_reproducible::set_variable;
use super::tool_command::ToolCommand;
use super::toolchain::{ToolError, Toolchain, at_least, is_program, tool_output};
use super::{BuiltComponent, read_made};
use crate::project::Project;
use crate::project::host_world::HostWorld;

const NODE: &str = "Node.js 20 or newer, from https://nodejs.org, or on Debian: apt install nodejs npm";

/// Usual paths of the plugin's module, if `package.json` names none.
const ENTRIES: [&str; 4] = ["src/plugin.ts", "src/plugin.js", "plugin.ts", "plugin.js"];

/// Options of esbuild: one file of modern JavaScript, whose only imports are those from the host. `async` becomes
/// generators over a `Promise` of the SDK, since the engine would settle promises only after a call.
const BUNDLE: [&str; 9] = [
    "--bundle",
    "--platform=neutral",
    "--main-fields=module,main",
    "--target=es2023",
    "--external:plugport:*",
    "--external:wasi:*",
    "--supported:async-await=false",
    "--supported:async-generator=false",
    "--supported:for-await=false",
];

/// The module of the SDK that loads bundles as data.
const DEV_SOURCES: &str = "src/dev_sources.js";

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
    check_node(root, tools).await?;
    let installed = NodeModules::find(root)?;
    let entry = entry(project)?;
    let bundle = scratch.join("plugin.js");
    installed.bundle(root, entry, &bundle, "--format=esm").await?;
    let worlds = needed(&read_made(&metafile(&bundle))?)?;
    installed.componentize(project, &bundle, &worlds, scratch, cache).await
}

async fn check_node(root: &Path, tools: &Toolchain) -> Result<(), BuildError> {
    let node = tools.require("node", NODE)?;
    let version = tool_output(root, &node, &["--version"], &[]).await.unwrap_or_default();
    Ok(at_least("20", &version, "Node.js", NODE)?)
}

/// A plugin as `plugport dev` builds it: a component with nothing of the project, and a bundle that it loads as data.
pub(super) struct DevPlugin {
    installed: NodeModules,
    entry: PathBuf,
    /// The file of the SDK that loads the bundle.
    loader: PathBuf,
}

impl DevPlugin {
    /// `None` if the project has a world of its own or an older SDK.
    pub(super) fn of(project: &Project, tools: &Toolchain) -> Result<Option<Self>, BuildError> {
        // Its version is checked when it makes the component; bundles need the time.
        tools.require("node", NODE)?;
        let is_usual = project.manifest.world.is_none() && !project.root.join("wit").is_dir();
        let installed = NodeModules::find(&project.root)?;
        let loader = installed.sdk.join(DEV_SOURCES);
        if !is_usual || !loader.is_file() {
            return Ok(None);
        }
        Ok(Some(Self { installed, entry: entry(project)?, loader }))
    }

    /// The bundle: a script that gets the interfaces of the host by a function `require`. `None` if that lacks one.
    pub(super) async fn bundle(
        &self,
        project: &Project,
        scratch: &Path,
    ) -> Result<Option<String>, BuildError> {
        let bundle = scratch.join("plugin.js");
        self.installed.bundle(&project.root, self.entry.clone(), &bundle, "--format=cjs").await?;
        let loader = self.loader_text();
        let is_there = |interface: &String| loader.contains(&format!("from {interface:?}"));
        if !imports(&read_made(&metafile(&bundle))?)?.iter().all(is_there) {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&read_made(&bundle)?).into_owned()))
    }

    fn loader_text(&self) -> String {
        std::fs::read_to_string(&self.loader).unwrap_or_default()
    }

    /// What the component is made of.
    pub(super) fn base_parts(&self, project: &Project) -> [String; 5] {
        let sdk = &self.installed.sdk;
        [
            tool_stamp(&self.installed.componentize),
            self.loader_text(),
            std::fs::read_to_string(sdk.join("package.json")).unwrap_or_default(),
            texts(&sdk.join("wit")),
            format!("{:?}", project.manifest.about),
        ]
    }

    /// Makes the component, which has all interfaces of the host for the bundles to come.
    pub(super) async fn component(
        &self,
        project: &Project,
        tools: &Toolchain,
        scratch: &Path,
        cache: &BuildCache,
    ) -> Result<BuiltComponent, BuildError> {
        check_node(&project.root, tools).await?;
        self.installed.componentize(project, &self.loader, &HostWorld::ALL, scratch, cache).await
    }
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
        Ok(Self { esbuild: program("esbuild")?, componentize: program(BUILDER)?, sdk })
    }

    /// Writes the bundle, and beside it the metafile with what it imports.
    async fn bundle(&self, root: &Path, entry: PathBuf, to: &Path, format: &str) -> Result<(), BuildError> {
        let globals = GLOBALS.map(|name| OsString::from(format!("--define:globalThis.{name}={name}")));
        let paths = [
            option("--inject:", &self.sdk.join("src/globals.js")),
            option("--metafile=", &metafile(to)),
            option("--outfile=", to),
        ];
        let args = [entry.into_os_string()].into_iter().chain(BUNDLE.map(OsString::from));
        let args = args.chain(globals).chain(paths);
        // Prints warnings and errors only.
        ToolCommand::new(&self.esbuild, root).args(args).args([format, "--log-level=warning"]).run().await
    }

    fn builder(&self, root: &Path) -> JsBuilder {
        let package = find_module(root, BUILDER.as_ref()).unwrap_or_else(|| root.join(BUILDER));
        JsBuilder { program: self.componentize.clone(), package, variable: set_variable(&VARIABLES) }
    }

    /// Makes a component of a module, with the usual world and these.
    async fn componentize(
        &self,
        project: &Project,
        module: &Path,
        worlds: &[HostWorld],
        scratch: &Path,
        cache: &BuildCache,
    ) -> Result<BuiltComponent, BuildError> {
        let wit = world_of(project, Some(self.sdk.join("wit")), worlds, scratch)?;
        let given = JsInputs { wit, module: module.to_owned() };
        let copied = async {
            cache.check()?;
            given.copied(self.builder(&project.root), scratch).await
        };
        let (given, known) = KnownInputs::or_here(copied.await, given);
        let made = scratch.join("plugin.wasm");
        let make = async {
            ToolCommand::new(&self.componentize, &project.root).args(given.arguments(&made)).run().await?;
            read_made(&made)
        };
        Ok(BuiltComponent::made(project, cache.component(known, make).await?))
    }
}

/// The names and texts of the files below a folder.
fn texts(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let text = |path: &PathBuf| match path.is_dir() {
        true => texts(path),
        false => format!("{}\n{}", path.display(), std::fs::read_to_string(path).unwrap_or_default()),
    };
    paths.iter().map(text).collect()
}

/// The file in which esbuild says what a bundle imports.
fn metafile(bundle: &Path) -> PathBuf {
    bundle.with_extension("json")
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
    fn the_interface_of_an_sdk_is_a_part_of_its_components() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "deps/a.wit", "package a:a;");
        put(dir.path(), "plugin.wit", "package b:b;");
        let before = texts(dir.path());
        assert!(before.contains("package a:a;") && before.ends_with("package b:b;"), "{before}");
        put(dir.path(), "deps/a.wit", "package a:c;");
        assert_ne!(texts(dir.path()), before);
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
