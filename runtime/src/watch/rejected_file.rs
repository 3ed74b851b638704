//! Why a file is not served, for the operator and for the audit.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::catalog::PluginEntry;
use crate::observe::{Audit, Escaped, with_causes};

/// A file that is not served.
#[derive(Debug)]
pub struct RejectedFile {
    /// The file.
    pub path: PathBuf,
    /// One line: what is wrong and what to do.
    pub why: String,
    /// The file is a plugin, but its items could not be listed; perhaps a grant is missing.
    pub unlisted: bool,
}

/// Why a file is not served.
#[derive(Debug, Clone)]
pub(super) struct LoadFailure {
    pub(super) why: String,
    /// As in [`RejectedFile`].
    pub(super) unlisted: bool,
    /// The digest of the bytes that were read.
    pub(super) digest: Option<String>,
    pub(super) retry: RetryPolicy,
    /// The file could be served once an operator approves it.
    pub(super) pending_approval: bool,
    /// The version that is served now must not go on either.
    pub(super) ends_served: bool,
}

/// When a file that is not served is loaded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryPolicy {
    /// When its bytes or settings have changed: nothing else could help.
    Changed,
    /// When its stat or the policy has changed.
    Touched,
    /// After a while: this machine failed, not the file.
    Soon,
}

impl LoadFailure {
    pub(super) fn new(why: String) -> Self {
        Self {
            why,
            unlisted: false,
            digest: None,
            retry: RetryPolicy::Touched,
            pending_approval: false,
            ends_served: false,
        }
    }

    /// For bytes that are not approved.
    pub(super) fn pending_approval(why: String, digest: String) -> Self {
        Self { digest: Some(digest), pending_approval: true, ..Self::new(why) }
    }

    /// For an error and its causes.
    pub(super) fn of(error: &dyn std::error::Error) -> Self {
        Self::new(with_causes(error))
    }

    pub(super) fn at(self, path: &Path) -> RejectedFile {
        RejectedFile { path: path.to_owned(), why: self.why, unlisted: self.unlisted }
    }
}

/// The audit record of a load.
#[derive(Serialize)]
struct LoadLine<'a> {
    event: &'static str,
    plugin: Option<&'a str>,
    digest: Option<String>,
    file: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl<'a> LoadLine<'a> {
    fn of(path: &Path, loaded: Result<&'a PluginEntry, &'a LoadFailure>) -> Self {
        let file = Escaped(&path.display().to_string()).to_string();
        let (plugin, digest, outcome, why) = match loaded {
            Ok(entry) => (Some(entry.plugin.name()), Some(entry.plugin.digest()), "published", None),
            Err(LoadFailure { why, digest, pending_approval, .. }) => {
                (None, digest.as_deref(), if *pending_approval { "pending" } else { "rejected" }, Some(why))
            }
        };
        let digest = digest.map(|digest| format!("sha256:{digest}"));
        let reason = why.map(|why| Escaped(why).to_string());
        let signer = loaded.ok().and_then(|entry| entry.plugin.signer());
        let signed_by = signer.map(|signer| signer.key.to_string());
        Self { event: "load", plugin, digest, file, outcome, signed_by, reason }
    }
}

/// Records in the audit how loading a file ended.
pub(super) fn audit_load(audit: &Audit, path: &Path, loaded: Result<&PluginEntry, &LoadFailure>) {
    audit.record(&LoadLine::of(path, loaded));
}
