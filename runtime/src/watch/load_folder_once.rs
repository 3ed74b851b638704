//! Loads a folder once, for commands that examine it and do not serve it.
//!
//! The file tracker and the load queue are those of a server, so a command loads what a server would. Nothing is
//! watched afterwards and nothing is published: the snapshot is the result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::Instant;

use super::file_tracker::{FileTracker, TrackerAction};
use super::folder_poller::candidates;
use super::folder_scan::ScanError;
use super::load_policy::LoadPolicy;
use super::load_queue::{FinishedLoad, LoadOutcome, LoadQueue};
use super::plugin_loader::{internal_failure, too_many_plugins};
use super::rejected_file::{LoadFailure, RejectedFile, audit_load};
use crate::catalog::{Catalog, PluginEntry, Snapshot};
use crate::plugin::Loader;

/// The result of loading a folder.
#[derive(Debug)]
pub struct LoadedFolder {
    /// Everything that can be served.
    pub snapshot: Snapshot,
    /// The files that cannot be served.
    pub rejected: Vec<RejectedFile>,
}

/// Loads every plugin of the configured folder. All files of the folder decide which plugin owns a name, whichever is
/// loaded first.
///
/// # Errors
/// When the folder itself cannot be read.
pub async fn load_folder(loader: Arc<Loader>, policy: LoadPolicy) -> Result<LoadedFolder, ScanError> {
    let (max_plugins, policy) = (policy.config.server.max_plugins, Arc::new(policy));
    let files = candidates(&policy.config.folder)?;
    let owners = policy.owners(files.keys().map(PathBuf::as_path));
    let mut results: BTreeMap<PathBuf, Result<PluginEntry, LoadFailure>> = BTreeMap::new();
    for (path, _) in files.iter().filter(|(_, stat)| stat.is_none()) {
        results
            .insert(path.clone(), Err(LoadFailure::new("cannot be read; check that it may be".to_owned())));
    }
    let mut tracker = FileTracker::with_stable_files(&files, Instant::now());
    let mut loads = LoadQueue::new(Arc::clone(&loader), Arc::new(Catalog::empty()));
    loop {
        for action in tracker.due_actions(Instant::now(), loads.free_loads(), max_plugins) {
            match action {
                TrackerAction::Load(path, stat) => loads.start(path, stat, &policy),
                TrackerAction::Reject(path) => drop(results.insert(path, Err(too_many_plugins(max_plugins)))),
                TrackerAction::Remove(_) => {}
            }
        }
        if loads.is_idle() {
            break;
        }
        if let Some(FinishedLoad { path, stat, outcome, .. }) = loads.next().await {
            tracker.mark_loaded(&path, stat);
            results.insert(path, loaded(outcome));
        }
    }
    let mut entries = Vec::new();
    let mut rejected = Vec::new();
    for (path, loaded) in results {
        audit_load(loader.audit(), &path, loaded.as_ref());
        match loaded {
            Ok(entry) => entries.push(entry),
            Err(failure) => rejected.push(failure.at(&path)),
        }
    }
    Ok(LoadedFolder { snapshot: Snapshot::with_owners(entries, Arc::new(owners)), rejected })
}

fn loaded(outcome: LoadOutcome) -> Result<PluginEntry, LoadFailure> {
    match outcome {
        LoadOutcome::New(entry) => Ok(*entry),
        LoadOutcome::Rejected(failure) => Err(failure),
        LoadOutcome::Changed => Err(LoadFailure::new("changed while it was read; try again".to_owned())),
        LoadOutcome::Unavailable => Err(LoadFailure::new("is gone, or cannot be read; try again".to_owned())),
        // Unreachable: the catalog of this queue is empty.
        LoadOutcome::Same(_) => Err(internal_failure()),
    }
}
