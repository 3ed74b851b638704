//! Loads one file in one pass: the file is opened, read, hashed and verified once, and becomes a plugin with a
//! validated listing.
//!
//! The pass has two halves, since compiling may take a minute and all else takes milliseconds. [`load_cached`] ends
//! with a plugin if the file was compiled before; if not, it ends with all that [`compile`] needs. The load queue
//! decides when and how many files are compiled, and the publisher decides what is published.

use std::path::Path;

use super::folder_scan::CandidateFile;
use super::load_policy::LoadPolicy;
use super::rejected_file::{LoadFailure, RetryPolicy};
use crate::approval::ApprovalPolicy;
use crate::catalog::PluginEntry;
use crate::config::PluginConfig;
use crate::plugin::{
    CachedLoad, CompilePermit, ComponentFile, LoadError, LoadedPlugin, Loader, UncompiledFile,
};

/// A file that was read, with its settings.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) name: String,
    pub(super) settings: PluginConfig,
    pub(super) artifact: ComponentFile,
    approval_check: ApprovalCheck,
}

/// The approvals that a listing is compared with, and a warning about a file that may be served.
#[derive(Debug)]
struct ApprovalCheck {
    approval: ApprovalPolicy,
    warning: Option<String>,
}

/// A file that was loaded as far as possible without compiling.
#[derive(Debug)]
pub(super) enum CachedEntry {
    Loaded(PluginEntry),
    Uncompiled(UncompiledPlugin),
}

/// A file that was read and verified and has to be compiled.
#[derive(Debug)]
pub(super) struct UncompiledPlugin {
    file: Box<UncompiledFile>,
    digest: String,
    approval_check: ApprovalCheck,
}

/// The failure of a file beyond `max_plugins`.
pub(super) fn too_many_plugins(max_plugins: usize) -> LoadFailure {
    LoadFailure::new(format!(
        "comes after {max_plugins} others (limit [server] `max_plugins`); remove some, or raise the limit"
    ))
}

/// Reads a file and its settings. Blocks.
pub(super) fn open(policy: &LoadPolicy, path: &Path) -> Result<OpenedFile, LoadFailure> {
    let name = CandidateFile::at(path.to_owned()).name.map_err(LoadFailure::new)?;
    let settings = policy.plugin_config(&name, path)?;
    let artifact = ComponentFile::read_any(path, settings.limits.wasm_mib).map_err(|error| {
        let retry = if error.is_transient() { RetryPolicy::Soon } else { RetryPolicy::Touched };
        LoadFailure { retry, ..LoadFailure::of(&error) }
    })?;
    // Checked before the guest runs: an unapproved file must not use the grants of an approved plugin of its name.
    let approval_check = policy.approval.check_file(&name, &artifact.digest, &settings.grants);
    let warning =
        approval_check.map_err(|why| LoadFailure::pending_approval(why, artifact.digest.clone()))?;
    let (settings, approval) = (policy.effective(settings), policy.approval.clone());
    Ok(OpenedFile { name, settings, artifact, approval_check: ApprovalCheck { approval, warning } })
}

/// Loads a file that was read, as far as possible without compiling.
pub(super) async fn load_cached(loader: &Loader, opened: OpenedFile) -> Result<CachedEntry, LoadFailure> {
    let digest = opened.artifact.digest.clone();
    let loaded = async {
        // Checks that need no compiled code come first.
        opened.artifact.check().map_err(|error| LoadFailure::of(&error))?;
        let OpenedFile { name, settings, artifact, approval_check } = opened;
        let loaded = loader.load_cached(&name, artifact, settings).await;
        match loaded.map_err(|error| from_load_error(&error))? {
            CachedLoad::Loaded(loaded) => validate(*loaded, approval_check).await.map(CachedEntry::Loaded),
            CachedLoad::Uncompiled(file) => {
                let digest = digest.clone();
                Ok(CachedEntry::Uncompiled(UncompiledPlugin { file, digest, approval_check }))
            }
        }
    };
    loaded.await.map_err(|failure| LoadFailure { digest: Some(digest), ..failure })
}

/// Compiles a file that was not in the code cache, and loads it.
pub(super) async fn compile(
    loader: &Loader,
    UncompiledPlugin { file, digest, approval_check }: UncompiledPlugin,
    permit: &CompilePermit,
) -> Result<PluginEntry, LoadFailure> {
    let loaded = async {
        let loaded = loader.compile(*file, permit).await.map_err(|error| from_load_error(&error))?;
        validate(loaded, approval_check).await
    };
    loaded.await.map_err(|failure| LoadFailure { digest: Some(digest), ..failure })
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
    LoadFailure::new("could not be loaded; please report it with the file".to_owned())
}

/// Validates the listing on another thread: a listing may be large, and other tasks should not wait for it.
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
