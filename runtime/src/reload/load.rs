//! From a file to a plugin that has been seen to work and is vetted: what every way into the catalog has in common.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;

use super::refusal::{Again, Refusal, Skipped, note};
use super::scan::{Candidate, ScanError, scan};
use super::terms::Terms;
use crate::catalog::{Entry, Pins, Snapshot};
use crate::config::PluginConfig;
use crate::plugin::{Artifact, LoadError, Loaded, Loader};

/// Files that are loaded at the same time; no more are compiled than that either.
pub(super) const SIDE_BY_SIDE: usize = 2;

/// A file that was read, and what holds for it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) settings: PluginConfig,
    pub(super) artifact: Artifact,
    judged: Judged,
}

/// By what a file is judged, and what there is to say of it although it may be served.
#[derive(Debug)]
struct Judged {
    pins: Pins,
    warning: Option<String>,
}

/// What a folder held when it was loaded.
#[derive(Debug)]
pub struct Found {
    /// Everything that can be served.
    pub snapshot: Snapshot,
    /// What cannot.
    pub skipped: Vec<Skipped>,
}

/// Loads every candidate of the configured folder, a few side by side, so that one whose compiling takes for ever holds up
/// less than all. What belongs to whom is decided by what lies in the folder and not by who is ready first.
///
/// # Errors
/// When the folder itself cannot be read.
pub async fn load_folder(loader: &Loader, terms: &Terms) -> Result<Found, ScanError> {
    let mut entries = Vec::new();
    let mut skipped = Vec::new();
    let most = terms.config.server.plugins;
    let candidates = scan(&terms.config.folder)?;
    let owners = terms.owners(candidates.iter().map(|candidate| candidate.path.as_path()));
    let loads = candidates.into_iter().enumerate().map(|(at, candidate)| async move {
        let loaded = match at < most {
            true => load_file(loader, terms, &candidate.path).await,
            false => Err(beyond(most)),
        };
        (candidate.path, loaded)
    });
    let mut loads = pin!(futures_util::stream::iter(loads).buffered(SIDE_BY_SIDE));
    while let Some((path, loaded)) = loads.next().await {
        note(loader.audit(), &path, loaded.as_ref());
        match loaded {
            Ok(entry) => entries.push(entry),
            Err(refusal) => skipped.push(refusal.at(&path)),
        }
    }
    Ok(Found { snapshot: Snapshot::owned(entries, Arc::new(owners)), skipped })
}

/// Why a plugin is not served that would be one too many.
pub(super) fn beyond(most: usize) -> Refusal {
    Refusal::new(format!(
        "comes after {most} others (limit [server] `plugins`); remove some, or raise the limit"
    ))
}

async fn load_file(loader: &Loader, terms: &Terms, path: &Path) -> Result<Entry, Refusal> {
    let (terms, path) = (terms.clone(), path.to_owned());
    let opening = tokio::task::spawn_blocking(move || open(&terms, &path));
    let opened = opening.await.map_err(|_| unexamined())?;
    load(loader, opened?).await
}

/// Reads a file and what holds for it. Blocks.
pub(super) fn open(terms: &Terms, path: &Path) -> Result<Opened, Refusal> {
    let name = Candidate::at(path.to_owned()).name.map_err(Refusal::new)?;
    let settings = terms.settings(&name, path)?;
    let artifact = Artifact::read_any(path, settings.limits.wasm_mib).map_err(|error| {
        let again = if error.is_passing() { Again::Soon } else { Again::Touched };
        Refusal { again, ..Refusal::of(&error) }
    })?;
    // Before it is run: what nobody has approved has no business with what its namesake may reach.
    let judged = terms.pins.before(&name, &artifact.digest, &settings.grants);
    let warning = judged.map_err(|why| Refusal::held(why, artifact.digest.clone()))?;
    let (settings, pins) = (terms.given(settings), terms.pins.clone());
    Ok(Opened { name, settings, artifact, judged: Judged { pins, warning } })
}

/// Loads what was read and vets what it offers.
pub(super) async fn load(loader: &Loader, opened: Opened) -> Result<Entry, Refusal> {
    let digest = opened.artifact.digest.clone();
    let loaded = async {
        check(&opened)?;
        let Opened { name, settings, artifact, judged } = opened;
        let loaded = loader.load(&name, artifact, settings).await.map_err(|error| unloaded(&error))?;
        vet(loaded, judged).await
    };
    loaded.await.map_err(|refusal| Refusal { digest: Some(digest), ..refusal })
}

/// The same, but only if it was compiled before; `None` when it was not.
pub(super) async fn load_kept(loader: &Loader, opened: Opened) -> Result<Option<Entry>, Refusal> {
    let digest = opened.artifact.digest.clone();
    let loaded = async {
        check(&opened)?;
        let Opened { name, settings, artifact, judged } = opened;
        let loaded = loader.load_kept(&name, artifact, settings).await;
        match loaded.map_err(|error| unloaded(&error))? {
            Some(loaded) => vet(loaded, judged).await.map(Some),
            None => Ok(None),
        }
    };
    loaded.await.map_err(|refusal| Refusal { digest: Some(digest), ..refusal })
}

/// What can be told without running it.
fn check(opened: &Opened) -> Result<(), Refusal> {
    opened.artifact.check().map_err(|error| Refusal::of(&error))
}

fn unloaded(error: &LoadError) -> Refusal {
    let unlisted = error.is_unlisted();
    let again = match error {
        error if error.is_passing() => Again::Soon,
        error if error.is_lasting() => Again::Changed,
        _ => Again::Touched,
    };
    Refusal { unlisted, again, ..Refusal::of(error) }
}

pub(super) fn unexamined() -> Refusal {
    Refusal::new("could not be looked into; please report it with the file".to_owned())
}

/// A plugin may describe a lot; other tasks should not wait while it is read.
async fn vet(loaded: Loaded, Judged { pins, warning }: Judged) -> Result<Entry, Refusal> {
    let vetting = tokio::task::spawn_blocking(move || pins.after(Entry::vet(loaded)));
    let (entry, warnings) = vetting.await.map_err(|_| unexamined())?;
    for warning in warning.into_iter().chain(warnings) {
        tracing::warn!(target: "plugin", plugin = entry.plugin.name(), "{warning}");
    }
    Ok(entry)
}
