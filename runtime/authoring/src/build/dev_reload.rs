//! Gives a component of `plugport dev` the sources of the project as data, instead of building it again.
//!
//! The component itself says whether it can load them, in the words of its language: it is loaded here as the server
//! will load it, which takes a moment, since its machine code is in the cache.

use std::path::Path;

use plugport_common::console;

use super::build_cache::BuildCache;
use super::dev_files::{Base, DevFiles, MAX_SOURCES, Verdict};
use super::error::BuildError;
use super::toolchain::Toolchain;
use super::{finished, javascript, python};
use crate::project::Project;
use crate::project::language::Language;
use crate::server_access::ServerAccess;

/// How a project is built for `dev`.
pub(super) enum DevBuild {
    /// The component has the present sources; there is nothing to build.
    Done,
    /// A component that loads later sources.
    Base(Base),
    /// A component like any other.
    Plain,
}

/// Loads the present sources into the component that is there, or says what is to be built.
pub(super) async fn reload(
    project: &Project,
    tools: &Toolchain,
    files: &DevFiles,
    scratch: &Path,
    access: &dyn ServerAccess,
    cache: &BuildCache,
) -> Result<DevBuild, BuildError> {
    match project.language {
        Language::Python => reload_python(project, tools, files, access).await,
        Language::TypeScript | Language::JavaScript => {
            reload_javascript(project, tools, files, scratch, access, cache).await
        }
        _ => Ok(DevBuild::Plain),
    }
}

async fn reload_python(
    project: &Project,
    tools: &Toolchain,
    files: &DevFiles,
    access: &dyn ServerAccess,
) -> Result<DevBuild, BuildError> {
    let Some(sources) = python::sources_as_data(project) else { return Ok(DevBuild::Plain) };
    let made_of = files.made_of(&python::base_parts(project, tools)?);
    match files.is_made_of(&made_of, &sources) {
        None => return Ok(DevBuild::Base(Base { made_of, sources })),
        Some(true) => files.put_sources("")?,
        Some(false) => match files.check(&project.name, &sources, access).await? {
            Verdict::Loads => files.put_sources(&sources)?,
            Verdict::NeedsBuild(why) => {
                console::eprint(&format!("{why}\nthe component is built again, which may help"));
                return Ok(DevBuild::Base(Base { made_of, sources }));
            }
        },
    }
    Ok(DevBuild::Done)
}

/// The base after its build. If sources have changed since they were read, nobody knows which of them it has: an empty
/// text is that of no project.
pub(super) fn as_built(project: &Project, base: Base) -> Base {
    match python::sources_as_data(project) {
        Some(sources) if sources == base.sources => base,
        _ => Base { sources: String::new(), ..base },
    }
}

/// A component of JavaScript has nothing of the project: all of it is data.
async fn reload_javascript(
    project: &Project,
    tools: &Toolchain,
    files: &DevFiles,
    scratch: &Path,
    access: &dyn ServerAccess,
    cache: &BuildCache,
) -> Result<DevBuild, BuildError> {
    let Some(dev) = javascript::DevPlugin::of(project, tools)? else { return Ok(DevBuild::Plain) };
    let bundle = dev.bundle(project, scratch).await?.filter(|bundle| bundle.len() <= MAX_SOURCES);
    let Some(bundle) = bundle else { return Ok(DevBuild::Plain) };
    let made_of = files.made_of(&dev.base_parts(project));
    if files.is_made_of(&made_of, "").is_none() {
        let built = finished(project, dev.component(project, tools, scratch, cache).await?)?;
        let base = Base { made_of, sources: String::new() };
        files.put_component(&built.component, Some(&base))?;
    }
    // A bundle has all that it imports.
    let _: Verdict = files.check(&project.name, &bundle, access).await?;
    files.put_sources(&bundle)?;
    Ok(DevBuild::Done)
}
