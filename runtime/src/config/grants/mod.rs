//! What an operator lets a plugin reach. Nothing is granted by default, and a grant is parsed once, into a type that can
//! no longer say what must never be granted.
//!
//! One file per kind of grant; each reads its form in `plugport.toml` and its form on the command line.

mod dirs;
mod kv;
mod roots;

use std::path::{Path, PathBuf};

pub(super) use dirs::resolved;
pub use dirs::{DirGrant, Room};
pub use roots::{RootRefusal, RootsGrant};

use super::reader::{Reader, Section};

/// Everything granted to one plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories, each under a guest path of its own.
    pub dirs: Vec<DirGrant>,
    /// How much it may keep between calls, MiB; nothing when absent.
    pub kv_mib: Option<u64>,
    /// Whether it may ask the client's model.
    pub sampling: bool,
    /// Whether it may ask the person at the client.
    pub elicitation: bool,
    /// Whether it may see the client's roots.
    pub roots: bool,
    /// Which of them it may read.
    pub read_roots: Option<RootsGrant>,
}

/// Where grants are written: what their paths are relative to, and what no guest may write.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Relative paths begin here.
    pub base: &'a Path,
    /// What no guest may write or read.
    pub protected: &'a Protected,
}

/// Places with rules of their own, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected {
    /// The plugin folder and the configuration: whoever writes there decides what is served.
    pub folders: Vec<PathBuf>,
    /// The state folder: whoever reads there learns what other plugins keep.
    pub state: Option<PathBuf>,
    /// The home directory of the user who runs the server.
    pub home: Option<PathBuf>,
}

/// Why something cannot be granted.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// It is not there, or not a directory.
    #[error("cannot grant {}: {reason}; name a directory that exists", path.display())]
    Missing {
        /// As it was written.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A root that is refused whatever the operator says.
    #[error("cannot grant {}: {why}; grant a directory further down", path.display())]
    Refused {
        /// The resolved path.
        path: PathBuf,
        /// Which rule.
        why: String,
    },
    /// The guest's path is not usable.
    #[error("guest path `{0}` must be absolute and plain, such as /data")]
    GuestPath(String),
    /// Two grants under one guest path.
    #[error("guest path `{0}` is granted twice; give each directory a path of its own")]
    Twice(String),
    /// The short form could not be read.
    #[error("cannot read the grant `{grant}`: {why}")]
    Form {
        /// As it was written.
        grant: String,
        /// What to write.
        why: String,
    },
}

const KEYS: &[&str] = &["dirs", "kv", "sampling", "elicitation", "roots"];

/// What `--grant` takes.
const FORMS: &str = "write dir=HOST, dir=HOST:GUEST, dir=HOST:GUEST:rw, kv or kv=MIB";

impl Grants {
    /// Reads the table `grants` of a plugin. What is wrong is noted and left out.
    pub(super) fn read(mut from: Section<'_>, place: Place<'_>, reader: &mut Reader<'_>) -> Self {
        let mut grants = Self::default();
        for entry in from.take("dirs").map(|entry| entry.array(reader)).unwrap_or_default() {
            let (key, span) = (entry.key.clone(), entry.span.clone());
            let Some(dir) = DirGrant::read(entry, place, reader) else { continue };
            if let Err(error) = dir.and_then(|dir| grants.add_dir(dir)) {
                reader.fault(span, &key, error.to_string());
            }
        }
        grants.kv_mib = from.take("kv").and_then(|entry| kv::read(entry, reader));
        let mut flag = |key: &str| from.take(key).and_then(|entry| entry.boolean(reader)).unwrap_or_default();
        grants.sampling = flag("sampling");
        grants.elicitation = flag("elicitation");
        if let Some(entry) = from.take("roots") {
            (grants.roots, grants.read_roots) = roots::read(entry, place, reader);
        }
        from.finish(reader, KEYS);
        grants
    }

    /// Adds what one `--grant` of the command line says.
    ///
    /// # Errors
    /// When it has no form that is known here, or names what is never granted.
    pub fn add(&mut self, text: &str, place: Place<'_>) -> Result<(), GrantError> {
        let form = |why: &str| GrantError::Form { grant: text.to_owned(), why: why.to_owned() };
        match text.split_once('=').unwrap_or((text, "")) {
            ("dir", text) => self.add_dir(DirGrant::parse(text, place)?)?,
            ("kv", quota) => self.kv_mib = Some(kv::parse(quota).map_err(|why| form(&why))?),
            ("sampling" | "elicitation" | "roots", _) => {
                return Err(form("there is no client here that could be asked; use `plugport serve`"));
            }
            _ => return Err(form(FORMS)),
        }
        Ok(())
    }

    fn add_dir(&mut self, dir: DirGrant) -> Result<(), GrantError> {
        if self.dirs.iter().any(|other| other.guest == dir.guest) {
            return Err(GrantError::Twice(dir.guest));
        }
        self.dirs.push(dir);
        Ok(())
    }
}
