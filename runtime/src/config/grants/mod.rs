//! What an operator lets a plugin reach. Nothing is granted by default, and a grant is parsed once, into a type that can
//! no longer say what must never be granted.
//!
//! One file per kind of grant; each reads its form in `plugport.toml` and its form on the command line.

mod config_values;
mod describe;
mod dirs;
mod env;
mod http;
mod kv;
mod roots;
mod sampling;
mod secrets;
mod subset;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use describe::GrantSentence;
pub(super) use dirs::resolved;
pub use dirs::{DirGrant, DirQuota};
pub use env::EnvVar;
pub use http::{Host, HostParseError, HttpGrant, HttpGrantError, Scheme};
pub use roots::{RootError, RootsGrant};
pub use sampling::SamplingGrant;
pub use secrets::{Secret, Secrets};

use super::toml_reader::{TomlReader, TomlTable};

/// Everything granted to one plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories, each under a guest path of its own.
    pub dirs: Vec<DirGrant>,
    /// Requests to hosts.
    pub http: Vec<HttpGrant>,
    /// Variables of its environment.
    pub env: Vec<EnvVar>,
    /// Values that it may read, by key.
    pub config: BTreeMap<String, String>,
    /// Secrets that it may read.
    pub secrets: Secrets,
    /// How much it may keep between calls, MiB; nothing when absent.
    pub kv_mib: Option<u64>,
    /// How much it may ask the client's model; nothing when absent.
    pub sampling: Option<SamplingGrant>,
    /// Whether it may ask the user at the client.
    pub elicitation: bool,
    /// Whether it may see the client's roots.
    pub roots: bool,
    /// Which of them it may read.
    pub read_roots: Option<RootsGrant>,
}

/// Where grants are written: what their paths are relative to, and what no guest may have.
#[derive(Debug, Clone, Copy)]
pub struct GrantContext<'a> {
    /// Relative paths begin here.
    pub base: &'a Path,
    /// What no guest may write or read.
    pub protected: &'a ProtectedPaths,
}

/// Places with rules of their own, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// The plugin folder, the configuration and the audit: whoever writes there decides what is served, or what is known.
    pub folders: Vec<PathBuf>,
    /// The state folder, and where those of this person's other servers are: whoever reads there learns what other plugins keep.
    pub states: Vec<PathBuf>,
    /// Where this person's servers and commands keep compiled code: whoever writes there decides what they run.
    pub caches: Vec<PathBuf>,
    /// The home directory of the user who runs the server.
    pub home: Option<PathBuf>,
}

impl ProtectedPaths {
    /// What no guest may even read, with keys in it.
    fn unreadable_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.states.iter().chain(&self.caches)
    }

    /// As far as it lies below a directory.
    fn unreadable_below(&self, host: &Path) -> Vec<PathBuf> {
        self.unreadable_paths().filter(|path| path.starts_with(host)).cloned().collect()
    }
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
    Forbidden {
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

const KEYS: &[&str] = &["dirs", "http", "env", "config", "secrets", "kv", "sampling", "elicitation", "roots"];

/// What `--grant` takes.
const FORMS: &str = "write dir=HOST, dir=HOST:GUEST, dir=HOST:GUEST:rw, http=PATTERN, env=NAME, env=NAME=VALUE, \
                     config=KEY=VALUE, secret=NAME=env:VARIABLE, secret=NAME=file:PATH, kv or kv=MIB";

impl Grants {
    /// Reads the table `grants` of a plugin. What is wrong is noted and left out.
    pub(super) fn read(
        mut from: TomlTable<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) -> Self {
        let mut grants = Self::default();
        for entry in from.take("dirs").map(|entry| entry.array(reader)).unwrap_or_default() {
            let (key, span) = (entry.key.clone(), entry.span.clone());
            let Some(dir) = DirGrant::read(entry, context, reader) else { continue };
            if let Err(error) = dir.and_then(|dir| grants.add_dir(dir)) {
                reader.report(span, &key, error.to_string());
            }
        }
        for entry in from.take("http").map(|entry| entry.array(reader)).unwrap_or_default() {
            grants.http.extend(HttpGrant::read(&entry, reader));
        }
        for entry in from.take("env").map(|entry| entry.array(reader)).unwrap_or_default() {
            env::read(entry, &mut grants.env, reader);
        }
        if let Some(entry) = from.take("config") {
            config_values::read(entry, &mut grants.config, reader);
        }
        if let Some(entry) = from.take("secrets") {
            grants.secrets.read(entry, &grants.config, context, reader);
        }
        grants.kv_mib = from.take("kv").and_then(|entry| kv::read(entry, reader));
        grants.sampling = from.take("sampling").and_then(|entry| sampling::read(entry, reader));
        let elicitation = from.take("elicitation").and_then(|entry| entry.boolean(reader));
        grants.elicitation = elicitation.unwrap_or_default();
        if let Some(entry) = from.take("roots") {
            (grants.roots, grants.read_roots) = roots::read(entry, context, reader);
        }
        from.finish(reader, KEYS);
        grants
    }

    /// Adds what one `--grant` of the command line says.
    ///
    /// # Errors
    /// When it has no form that is known here, or names what is never granted.
    pub fn add(&mut self, text: &str, context: GrantContext<'_>) -> Result<(), GrantError> {
        let form = |why: &str| GrantError::Form { grant: text.to_owned(), why: why.to_owned() };
        match text.split_once('=').unwrap_or((text, "")) {
            ("dir", text) => self.add_dir(DirGrant::parse(text, context)?)?,
            ("http", pattern) => {
                self.http.push(HttpGrant::parse(pattern).map_err(|error| form(&error.to_string()))?);
            }
            ("env", text) => env::parse(text, &mut self.env).map_err(|why| form(&why))?,
            ("config", text) => config_values::parse(text, &mut self.config).map_err(|why| form(&why))?,
            ("secret", text) => {
                self.secrets.parse(text, &self.config, context).map_err(|why| form(&why))?;
            }
            ("kv", quota) => self.kv_mib = Some(kv::parse(quota).map_err(|why| form(&why))?),
            ("sampling" | "elicitation" | "roots", _) => {
                return Err(form("there is no client here that could answer; use `plugport serve`"));
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

    /// What is granted and will not be as the operator may expect, one sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let unset = self.env.iter().filter(|variable| variable.value.is_none()).map(|EnvVar { name, .. }| {
            format!("the variable {name} is granted but not set in the server's environment, so the plugin lacks it")
        });
        let world_readable = self.secrets.iter().filter(|(_, secret)| secret.is_world_readable()).map(|(name, secret)| {
            let source = secret.source();
            format!("{source}, which holds the secret `{name}`, can be read by every user; change its mode to 0600")
        });
        unset.chain(world_readable).collect()
    }
}
