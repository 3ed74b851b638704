//! `plugport build`: builds a component from a project in any of the languages.
//!
//! Each language's own tools compile; they run as children, and their output is shown. The rest is done here, so that
//! users install no more than a compiler: embedding the world into core modules, making components, removing debug
//! sections, and adding the project's metadata. The component is then loaded as `inspect` does, since a component that
//! no server can load is no plugin.

mod build_cache;
mod c;
mod c_compiler;
mod componentize;
mod composed_world;
mod dev_files;
mod dev_reload;
mod error;
mod go;
mod inputs;
mod javascript;
mod javascript_inputs;
mod known_inputs;
mod not_reproducible;
mod output;
mod python;
mod python_imports;
mod python_inputs;
mod python_syntax;
mod report;
mod rust;
mod sections;
mod shipped_files;
#[cfg(test)]
mod test_program;
mod tool_command;
mod toolchain;
mod wit_world;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use plugport_common::{CommandError, Metadata, console};

use crate::cli;
use crate::project::Project;
use crate::project::language::Language;
use crate::server_access::{LoadedPlugin, ServerAccess};
use crate::signals::Signals;
use build_cache::{BuildCache, MadeComponent};
use dev_files::{Base, DevFiles};
use dev_reload::DevBuild;
use error::BuildError;
use output::WrittenFile;
use report::BuildReport;
use sections::{strip, write_metadata};
use toolchain::Toolchain;

/// The component that the tools built, with the plugin's name and metadata.
#[derive(Debug)]
struct BuiltComponent {
    component: Vec<u8>,
    /// The plugin's name.
    name: String,
    /// The metadata for the component.
    about: Metadata,
    /// Whether an earlier build of the same inputs has made it.
    is_cached: bool,
}

impl BuiltComponent {
    /// With the name and metadata of the project's manifest.
    fn new(project: &Project, component: Vec<u8>) -> Self {
        let about = Metadata {
            name: project.manifest.about.name.clone().or_else(|| Some(project.name.clone())),
            ..project.manifest.about.clone()
        };
        Self { component, name: project.name.clone(), about, is_cached: false }
    }

    /// The same of a component that may be cached.
    fn made(project: &Project, made: MadeComponent) -> Self {
        Self { is_cached: made.is_cached, ..Self::new(project, made.bytes) }
    }
}

impl From<BuildError> for CommandError {
    fn from(error: BuildError) -> Self {
        match error.is_usage() {
            true => Self::Usage(error.into()),
            false => Self::Failed(error.into()),
        }
    }
}

pub(crate) async fn run(
    args: cli::Build,
    access: &'static dyn ServerAccess,
) -> Result<ExitCode, CommandError> {
    let begun = Instant::now();
    let mut signals = Signals::listen()?;
    let made = tokio::select! {
        result = make(&args, access) => result?,
        // Dropping the future kills the children and removes temporary files.
        () = signals.stopped() => return Err(BuildError::Stopped.into()),
    };
    // `plugport dev` needs no report.
    let Some((project, built, output)) = made else { return Ok(ExitCode::SUCCESS) };
    let report = BuildReport { project: &project, built: &built, output: &output, seconds: begun.elapsed() };
    let loaded = match args.no_load {
        true => None,
        false => Some(load(&report, access, &mut signals).await?),
    };
    match args.json {
        true => console::print_json(&format!("{:#}", report.as_json(loaded.as_ref()))),
        false => console::print(&report.as_text(loaded.as_ref())),
    }
    Ok(ExitCode::SUCCESS)
}

/// Loads the component; a signal stops this, since compiling an interpreter takes long.
async fn load(
    report: &BuildReport<'_>,
    access: &dyn ServerAccess,
    signals: &mut Signals,
) -> Result<LoadedPlugin, CommandError> {
    console::eprint("loading it to show its tools; --no-load leaves that out");
    tokio::select! {
        loaded = report.load(access) => loaded,
        () = signals.stopped() => Err(BuildError::Stopped.into()),
    }
}

/// Builds the project and writes the component; for `plugport dev`, only as far as that is necessary.
async fn make(
    args: &cli::Build,
    access: &dyn ServerAccess,
) -> Result<Option<(Project, BuiltComponent, WrittenFile)>, BuildError> {
    let project = Project::find(&args.project)?;
    if let Some(output) = &args.output {
        output::check(output)?;
    }
    let scratch =
        tempfile::Builder::new().prefix("plugport-build-").tempdir().map_err(BuildError::Scratch)?;
    let (tools, scratch) = (Toolchain::of(&project.root), scratch.path());
    let cache = BuildCache::new(access.cache_dir());
    let dev_files = DevFiles::of(args);
    let mut base = None;
    if let Some(files) = &dev_files {
        match dev_reload::reload(&project, &tools, files, scratch, access, &cache).await? {
            DevBuild::Done => return Ok(None),
            DevBuild::Base(new) => base = Some(new),
            DevBuild::Plain => {}
        }
    }
    let compiled = compile(&project, &tools, scratch, &cache, args.output.as_deref(), base.as_ref()).await?;
    let built = finished(&project, compiled)?;
    if let Some(files) = &dev_files {
        let base = base.map(|base| dev_reload::as_built(&project, base));
        files.put_component(&built.component, base.as_ref())?;
        return Ok(None);
    }
    let file = args.output.clone().unwrap_or_else(|| project.root.join(format!("{}.wasm", built.name)));
    let output = output::write(file, &built.component)?;
    Ok(Some((project, built, output)))
}

/// The component without debug sections, with the project's metadata and files.
fn finished(project: &Project, mut built: BuiltComponent) -> Result<BuiltComponent, BuildError> {
    if project.language != Language::Rust {
        built.component = strip(&built.component)?;
    } else if has_debug(&built.component) {
        // Stripping is a setting of cargo, which the author decides.
        console::eprint(
            "the component has debug sections; strip = true under [profile.release] in Cargo.toml removes them",
        );
    }
    built.about = built.about.without_blanks();
    built.component = write_metadata(&built.about, &built.component)?;
    built.component = shipped_files::ship(&project.root, built.component)?;
    Ok(built)
}

/// Compiles the project. `output`: the file that the author names. `base`: for `plugport dev`, to a component that can
/// load other sources.
async fn compile(
    project: &Project,
    tools: &Toolchain,
    scratch: &Path,
    cache: &BuildCache,
    output: Option<&Path>,
    base: Option<&Base>,
) -> Result<BuiltComponent, BuildError> {
    match project.language {
        Language::Rust => rust::build(project, tools).await,
        Language::TypeScript | Language::JavaScript => {
            javascript::build(project, tools, scratch, cache).await
        }
        Language::Python => python::build(project, tools, scratch, cache, output, base.is_some()).await,
        Language::Go => go::build(project, tools, scratch).await,
        Language::C | Language::Cpp | Language::Zig => c::build(project, tools, scratch).await,
    }
}

/// Reads a file that a tool should have written.
fn read_made(path: &Path) -> Result<Vec<u8>, BuildError> {
    std::fs::read(path).map_err(|error| BuildError::NotMade(path.to_owned(), error))
}

/// Whether a module in the component has debug information. Of all builds, only cargo's leaves it in by default.
fn has_debug(component: &[u8]) -> bool {
    const SECTION: &[u8] = b".debug_info";
    component.windows(SECTION.len()).any(|window| window == SECTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_manifest_does_not_name_has_the_plugins_name() {
        let mut project = Project {
            root: "/p/tool".into(),
            language: Language::C,
            name: "tool".to_owned(),
            manifest: Default::default(),
        };
        let built = BuiltComponent::new(&project, Vec::new());
        assert_eq!((built.name.as_str(), built.about.name.as_deref()), ("tool", Some("tool")));
        project.manifest.about.name = Some("Tool".to_owned());
        assert_eq!(BuiltComponent::new(&project, Vec::new()).about.name.as_deref(), Some("Tool"));
    }

    #[test]
    fn sections_for_debuggers_are_seen() {
        assert!(has_debug(b"..\x0b.debug_info..") && !has_debug(b".debug_") && !has_debug(b""));
    }
}
