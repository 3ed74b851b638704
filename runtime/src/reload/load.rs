//! Loads every candidate of a folder, a few side by side, so that one whose compiling takes for ever holds up less than
//! all. Which come first is decided by their names and not by who is ready first.

use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::StreamExt as _;
use serde::Serialize;

use super::scan::{Candidate, ScanError, scan};
use crate::catalog::{Entry, Snapshot};
use crate::config::Config;
use crate::observe::Escaped;
use crate::plugin::{Artifact, Loader};

/// Files that are loaded at the same time; no more are compiled than that either.
const SIDE_BY_SIDE: usize = 2;

/// A file that is not served.
#[derive(Debug)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// One line: what is wrong and what to do.
    pub why: String,
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
    why: Option<String>,
}

impl<'a> Line<'a> {
    fn of(path: &Path, loaded: &'a Result<Entry, String>) -> Self {
        let file = Escaped(&path.display().to_string()).to_string();
        let entry = loaded.as_ref().ok();
        Self {
            event: "load",
            plugin: entry.map(|entry| entry.plugin.name()),
            digest: entry.map(|entry| format!("sha256:{}", entry.plugin.digest())),
            file,
            outcome: if entry.is_some() { "published" } else { "refused" },
            why: loaded.as_ref().err().map(|why| Escaped(why).to_string()),
        }
    }
}

/// Builds a snapshot of everything in the configured folder that can be served.
///
/// # Errors
/// When the folder itself cannot be read.
pub async fn load_folder(loader: &Loader, config: &Config) -> Result<(Snapshot, Vec<Skipped>), ScanError> {
    let mut entries = Vec::new();
    let mut skipped = Vec::new();
    let most = config.server.plugins;
    let loads = scan(&config.folder)?.into_iter().enumerate().map(|(at, candidate)| {
        let path = candidate.path.clone();
        async move {
            let loaded = match at < most {
                true => load(loader, config, candidate).await,
                false => Err(format!(
                    "comes after {most} others (limit [server] `plugins`); remove some, or raise the limit"
                )),
            };
            (path, loaded)
        }
    });
    let mut loads = pin!(futures_util::stream::iter(loads).buffered(SIDE_BY_SIDE));
    while let Some((path, loaded)) = loads.next().await {
        loader.audit().record(&Line::of(&path, &loaded));
        match loaded {
            Ok(entry) => entries.push(entry),
            Err(why) => skipped.push(Skipped { path, why }),
        }
    }
    Ok((Snapshot::new(entries), skipped))
}

async fn load(loader: &Loader, config: &Config, candidate: Candidate) -> Result<Entry, String> {
    let name = candidate.name?;
    let settings = config.plugin(&name);
    let artifact =
        Artifact::read(&candidate.path, settings.limits.wasm_mib).map_err(|error| chain(&error))?;
    let loaded = loader.load(&name, artifact, settings).await.map_err(|error| chain(&error))?;
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let vetting = tokio::task::spawn_blocking(|| Entry::vet(loaded));
    vetting.await.map_err(|_| "could not be checked; please report it with the file".to_owned())
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
