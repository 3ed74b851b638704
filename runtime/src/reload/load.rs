//! Loads every candidate of a folder, a few side by side, so that one whose compiling takes for ever holds up less than
//! all. Which come first is decided by their names and not by who is ready first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::StreamExt as _;
use serde::Serialize;

use super::scan::{Candidate, ScanError, scan};
use super::stamp::Stamp;
use crate::catalog::{Entry, Snapshot};
use crate::config::{Config, PluginConfig};
use crate::observe::Escaped;
use crate::plugin::{Artifact, LoadError, Loader};

/// Files that are loaded at the same time; no more are compiled than that either.
pub(super) const SIDE_BY_SIDE: usize = 2;

/// A file that is not served.
#[derive(Debug)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// One line: what is wrong and what to do.
    pub why: String,
    /// It is a plugin, but could not tell what it offers; that may be for want of a grant.
    pub unlisted: bool,
}

/// Why a file is not served.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) unlisted: bool,
    /// Of what was read.
    digest: Option<String>,
}

impl Refusal {
    pub(super) fn new(why: String) -> Self {
        Self { why, unlisted: false, digest: None }
    }
}

/// What the audit says of a file.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    plugin: Option<&'a str>,
    digest: Option<String>,
    file: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl<'a> Line<'a> {
    fn of(path: &Path, loaded: &'a Result<Entry, Refusal>) -> Self {
        let file = Escaped(&path.display().to_string()).to_string();
        let (plugin, digest, outcome, why) = match loaded {
            Ok(entry) => (Some(entry.plugin.name()), Some(entry.plugin.digest()), "published", None),
            Err(refusal) => (None, refusal.digest.as_deref(), "refused", Some(&refusal.why)),
        };
        let digest = digest.map(|digest| format!("sha256:{digest}"));
        let why = why.map(|why| Escaped(why).to_string());
        let signed = loaded.as_ref().ok().and_then(|entry| entry.plugin.signed());
        let signed_by = signed.map(|signed| signed.key.to_string());
        Self { event: "load", plugin, digest, file, outcome, signed_by, why }
    }
}

/// What a folder held when it was loaded.
#[derive(Debug)]
pub struct Found {
    /// Everything that can be served.
    pub snapshot: Snapshot,
    /// What cannot.
    pub skipped: Vec<Skipped>,
    /// Each file as it was before it was read.
    pub known: BTreeMap<PathBuf, Stamp>,
}

/// Builds a snapshot of everything in the configured folder that can be served.
///
/// # Errors
/// When the folder itself cannot be read.
pub async fn load_folder(loader: &Loader, config: &Config) -> Result<Found, ScanError> {
    let mut entries = Vec::new();
    let mut skipped = Vec::new();
    let mut known = BTreeMap::new();
    let most = config.server.plugins;
    let loads = scan(&config.folder)?.into_iter().enumerate().map(|(at, candidate)| {
        let path = candidate.path.clone();
        async move {
            let stamp = Stamp::of(&path);
            let loaded = match at < most {
                true => load(loader, config, candidate).await,
                false => Err(Refusal::new(format!(
                    "comes after {most} others (limit [server] `plugins`); remove some, or raise the limit"
                ))),
            };
            (path, stamp, loaded)
        }
    });
    let mut loads = pin!(futures_util::stream::iter(loads).buffered(SIDE_BY_SIDE));
    while let Some((path, stamp, loaded)) = loads.next().await {
        known.extend(stamp.map(|stamp| (path.clone(), stamp)));
        note(loader, &path, &loaded);
        match loaded {
            Ok(entry) => entries.push(entry),
            Err(Refusal { why, unlisted, .. }) => skipped.push(Skipped { path, why, unlisted }),
        }
    }
    Ok(Found { snapshot: Snapshot::new(entries), skipped, known })
}

/// Notes in the audit what became of a file.
pub(super) fn note(loader: &Loader, path: &Path, loaded: &Result<Entry, Refusal>) {
    loader.audit().record(&Line::of(path, loaded));
}

/// Reads a file of at most this many MiB. Blocks.
pub(super) fn read(path: &Path, most: u64) -> Result<Artifact, Refusal> {
    Artifact::read_any(path, most).map_err(|error| Refusal::new(chain(&error)))
}

async fn load(loader: &Loader, config: &Config, candidate: Candidate) -> Result<Entry, Refusal> {
    let name = candidate.name.map_err(Refusal::new)?;
    let settings = config.plugin(&name);
    let artifact = read(&candidate.path, settings.limits.wasm_mib)?;
    examine(loader, &name, artifact, settings).await
}

/// Loads what was read and vets what it offers.
pub(super) async fn examine(
    loader: &Loader,
    name: &str,
    artifact: Artifact,
    settings: PluginConfig,
) -> Result<Entry, Refusal> {
    let digest = artifact.digest.clone();
    let examined = try_out(loader, name, artifact, settings).await;
    examined.map_err(|refusal| Refusal { digest: Some(digest), ..refusal })
}

async fn try_out(
    loader: &Loader,
    name: &str,
    artifact: Artifact,
    settings: PluginConfig,
) -> Result<Entry, Refusal> {
    artifact.check().map_err(|error| Refusal::new(chain(&error)))?;
    let loaded = loader.load(name, artifact, settings).await.map_err(|error| {
        let unlisted = matches!(error, LoadError::Start(_) | LoadError::Refused(_));
        Refusal { unlisted, ..Refusal::new(chain(&error)) }
    })?;
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let vetting = tokio::task::spawn_blocking(|| Entry::vet(loaded));
    vetting.await.map_err(|_| Refusal::new("could not be checked; please report it with the file".to_owned()))
}

/// An error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        line = format!("{line}: {}", text.lines().next().unwrap_or_default());
        cause = error.source();
    }
    line
}
