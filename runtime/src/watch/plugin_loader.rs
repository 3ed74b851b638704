//! Loads one file: from its bytes to a plugin that works, with a validated listing. Every way into the catalog uses it.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;

use super::folder_scan::{CandidateFile, ScanError, scan};
use super::load_failure::{LoadFailure, RejectedFile, RetryPolicy, audit_load};
use super::load_policy::LoadPolicy;
use crate::approval::ApprovalPolicy;
use crate::catalog::{PluginEntry, Snapshot};
use crate::config::PluginConfig;
use crate::plugin::{ComponentFile, LoadError, LoadedPlugin, Loader};

/// Files that are loaded at the same time; no more are compiled than that either.
pub(super) const SIDE_BY_SIDE: usize = 2;

/// A file that was read, and what holds for it.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) name: String,
    pub(super) settings: PluginConfig,
    pub(super) artifact: ComponentFile,
    approval_check: ApprovalCheck,
}

/// By what a file is judged, and what there is to say of it although it may be served.
#[derive(Debug)]
struct ApprovalCheck {
    approval: ApprovalPolicy,
    warning: Option<String>,
}

/// What a folder held when it was loaded.
#[derive(Debug)]
pub struct LoadedFolder {
    /// Everything that can be served.
    pub snapshot: Snapshot,
    /// What cannot.
    pub rejected: Vec<RejectedFile>,
}

/// Loads every candidate of the configured folder, a few side by side, so that one whose compiling takes for ever holds up
/// less than all. What belongs to whom is decided by what lies in the folder and not by who is ready first.
///
/// # Errors
/// When the folder itself cannot be read.
pub async fn load_folder(loader: &Loader, policy: &LoadPolicy) -> Result<LoadedFolder, ScanError> {
    let mut entries = Vec::new();
    let mut rejected = Vec::new();
    let most = policy.config.server.plugins;
    let candidates = scan(&policy.config.folder)?;
    let owners = policy.owners(candidates.iter().map(|candidate| candidate.path.as_path()));
    let loads = candidates.into_iter().enumerate().map(|(at, candidate)| async move {
        let loaded = match at < most {
            true => load_file(loader, policy, &candidate.path).await,
            false => Err(too_many_plugins(most)),
        };
        (candidate.path, loaded)
    });
    let mut loads = pin!(futures_util::stream::iter(loads).buffered(SIDE_BY_SIDE));
    while let Some((path, loaded)) = loads.next().await {
        audit_load(loader.audit(), &path, loaded.as_ref());
        match loaded {
            Ok(entry) => entries.push(entry),
            Err(failure) => rejected.push(failure.at(&path)),
        }
    }
    Ok(LoadedFolder { snapshot: Snapshot::with_owners(entries, Arc::new(owners)), rejected })
}

/// Why a plugin is not served that would be one too many.
pub(super) fn too_many_plugins(most: usize) -> LoadFailure {
    LoadFailure::new(format!(
        "comes after {most} others (limit [server] `plugins`); remove some, or raise the limit"
    ))
}

async fn load_file(loader: &Loader, policy: &LoadPolicy, path: &Path) -> Result<PluginEntry, LoadFailure> {
    let (policy, path) = (policy.clone(), path.to_owned());
    let opening = tokio::task::spawn_blocking(move || open(&policy, &path));
    let opened = opening.await.map_err(|_| internal_failure())?;
    load(loader, opened?).await
}

/// Reads a file and what holds for it. Blocks.
pub(super) fn open(policy: &LoadPolicy, path: &Path) -> Result<OpenedFile, LoadFailure> {
    let name = CandidateFile::at(path.to_owned()).name.map_err(LoadFailure::new)?;
    let settings = policy.plugin_config(&name, path)?;
    let artifact = ComponentFile::read_any(path, settings.limits.wasm_mib).map_err(|error| {
        let retry = if error.is_transient() { RetryPolicy::Soon } else { RetryPolicy::Touched };
        LoadFailure { retry, ..LoadFailure::of(&error) }
    })?;
    // Before it is run: what nobody has approved has no business with what its namesake may reach.
    let approval_check = policy.approval.check_file(&name, &artifact.digest, &settings.grants);
    let warning =
        approval_check.map_err(|why| LoadFailure::pending_approval(why, artifact.digest.clone()))?;
    let (settings, approval) = (policy.effective(settings), policy.approval.clone());
    Ok(OpenedFile { name, settings, artifact, approval_check: ApprovalCheck { approval, warning } })
}

/// Loads a file that was read, and validates its listing.
pub(super) async fn load(loader: &Loader, opened: OpenedFile) -> Result<PluginEntry, LoadFailure> {
    let digest = opened.artifact.digest.clone();
    let loaded = async {
        check(&opened)?;
        let OpenedFile { name, settings, artifact, approval_check } = opened;
        let loaded = loader.load(&name, artifact, settings).await.map_err(|error| from_load_error(&error))?;
        validate(loaded, approval_check).await
    };
    loaded.await.map_err(|failure| LoadFailure { digest: Some(digest), ..failure })
}

/// The same, but only if it was compiled before; `None` when it was not.
pub(super) async fn load_cached(
    loader: &Loader,
    opened: OpenedFile,
) -> Result<Option<PluginEntry>, LoadFailure> {
    let digest = opened.artifact.digest.clone();
    let loaded = async {
        check(&opened)?;
        let OpenedFile { name, settings, artifact, approval_check } = opened;
        let loaded = loader.load_cached(&name, artifact, settings).await;
        match loaded.map_err(|error| from_load_error(&error))? {
            Some(loaded) => validate(loaded, approval_check).await.map(Some),
            None => Ok(None),
        }
    };
    loaded.await.map_err(|failure| LoadFailure { digest: Some(digest), ..failure })
}

/// What can be told without running it.
fn check(opened: &OpenedFile) -> Result<(), LoadFailure> {
    opened.artifact.check().map_err(|error| LoadFailure::of(&error))
}

fn from_load_error(error: &LoadError) -> LoadFailure {
    let unlisted = error.is_listing_failure();
    let retry = match error {
        error if error.is_transient() => RetryPolicy::Soon,
        error if error.is_permanent() => RetryPolicy::Changed,
        _ => RetryPolicy::Touched,
    };
    LoadFailure { unlisted, retry, ..LoadFailure::of(error) }
}

pub(super) fn internal_failure() -> LoadFailure {
    LoadFailure::new("could not be looked into; please report it with the file".to_owned())
}

/// A plugin may describe a lot; other tasks should not wait while it is read.
async fn validate(
    loaded: LoadedPlugin,
    ApprovalCheck { approval, warning }: ApprovalCheck,
) -> Result<PluginEntry, LoadFailure> {
    let validating =
        tokio::task::spawn_blocking(move || PluginEntry::validate(loaded).check_approval(&approval));
    let (entry, warnings) = validating.await.map_err(|_| internal_failure())?;
    for warning in warning.into_iter().chain(warnings) {
        tracing::warn!(target: "plugin", plugin = entry.plugin.name(), "{warning}");
    }
    Ok(entry)
}
