//! Why a project was not built.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use super::sections::SectionError;
use super::shipped_files::FilesError;
use super::toolchain::ToolError;
use crate::project::ProjectError;
use crate::project::cargo_artifacts::ArtifactError;

/// The hint for an invalid world.
const OWN_WIT: &str = "mend the project's folder wit, or remove it to use Plugport's own interface";

/// Why a project was not built; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("{} is not there; write the plugin in it, or name another file as \"main\" in package.json", .0.display())]
    NoEntry(PathBuf),
    #[error(
        "there are no files of C or C++, and no plugin.zig, in {} and its folder src; write the plugin there",
        .0.display()
    )]
    NoSources(PathBuf),
    #[error("{} cannot be used; name files below the project, with one `*` at most in the last part", .0)]
    Sources(String),
    #[error("there is no SDK in {}; name its folder as `sdk` in plugin.toml", .0.display())]
    NoSdk(PathBuf),
    #[error("{} is no file; name a file with --output", .0.display())]
    OutputIsNoFile(PathBuf),
    #[error("{} is a workspace and no package; name the folder of one plugin", .0.display())]
    NoPackage(PathBuf),
    #[error("cannot start `{0}`; check that it may be run")]
    NotStarted(String, #[source] io::Error),
    #[error("`{0}` ended with {1}; mend what it says above and build again")]
    Failed(String, ExitStatus),
    #[error("`cargo metadata` printed no JSON; update Rust")]
    Metadata(#[source] serde_json::Error),
    #[error(
        "esbuild does not say what the bundle imports; name the version of the template, and run npm install"
    )]
    Metafile(#[source] serde_json::Error),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    #[error("cannot make a temporary folder; make the system's folder for temporary files writable")]
    Scratch(#[source] io::Error),
    #[error("cannot read {}, which the tools should have made", .0.display())]
    NotMade(PathBuf, #[source] io::Error),
    #[error("the interface cannot be read; {OWN_WIT}")]
    Wit(#[source] anyhow::Error),
    #[error("the interface has no world `{0}`; {OWN_WIT}")]
    World(String, #[source] anyhow::Error),
    #[error("no component can be made of what was compiled; see that the plugin exports what its world says")]
    Component(#[source] anyhow::Error),
    #[error(transparent)]
    Section(#[from] SectionError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("cannot write {}; make its folder writable, or name another file with --output", .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
    #[error("the plugin cannot load its sources; mend them\n{0}")]
    Unloadable(String),
    #[error("Python cannot read the sources; mend what it says above")]
    Syntax,
    #[error("the build was stopped")]
    Stopped,
}

impl BuildError {
    /// Whether the build could not even start.
    pub(super) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Project(_)
                | Self::Tool(_)
                | Self::NoEntry(_)
                | Self::NoSources(_)
                | Self::Sources(_)
                | Self::NoSdk(_)
                | Self::OutputIsNoFile(_)
                | Self::NoPackage(_)
        )
    }
}
