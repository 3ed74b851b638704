//! Why nobody knows whether two builds are of the same inputs. The tool then runs, and nothing is kept for the next
//! builds.

use std::io;
use std::path::{Path, PathBuf};

use plugport_common::{Escaped, console};
use tokio::task::JoinError;

/// Why a build has no digest, or a component is not kept; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotReproducible {
    #[error("{} cannot be read ({}); make it readable", named(.0), .1)]
    Unreadable(PathBuf, io::Error),
    #[error("{} cannot be written ({}); make room in the system's folder for temporary files", named(.0), .1)]
    NotCopied(PathBuf, io::Error),
    #[error(
        "more than 200,000 files or 1 GiB would have to be read; keep what is no source out of the project"
    )]
    TooLarge,
    #[error("the link {} leads to files that are not read; put the files themselves there", named(.0))]
    LinkOut(PathBuf),
    #[error("{} is in no virtual environment; install componentize-py in .venv of the project", named(.0))]
    NoEnvironment(PathBuf),
    #[error("{0} is set, and nobody knows what it lets the builder read; unset it")]
    Variable(&'static str),
    #[error("{} is not a package; install componentize-qjs with npm", named(.0))]
    NoPackage(PathBuf),
    #[error("the builder was replaced while it ran; build again")]
    Replaced,
    #[error("there is no folder to keep it in; set HOME")]
    NoCache,
    #[error("it cannot be kept in {} ({})", named(.0), .1)]
    NotKept(PathBuf, io::Error),
    #[error("its files were not read to the end; build again")]
    Lost(#[from] JoinError),
}

impl NotReproducible {
    /// Tells the author.
    pub(super) fn tell(&self) {
        console::eprint(&format!("this build is not reproducible: {self}"));
    }
}

/// The first of these variables that is set.
pub(super) fn set_variable(names: &[&'static str]) -> Option<&'static str> {
    let is_set = |name: &&'static str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    names.iter().copied().find(is_set)
}

/// Names of files are the author's, and may have anything in them.
fn named(path: &Path) -> String {
    Escaped(&path.display().to_string()).to_string()
}
