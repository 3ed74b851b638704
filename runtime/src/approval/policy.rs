//! The approval policy: the mode of comparison, and the approvals of the lockfile.
//!
//! A plugin is checked twice. Before its guest runs, by the digest of its file and its grants, since an unapproved
//! guest must not use the grants of an approved plugin with its name. And after each listing, item by item, since a
//! guest can list other items each time. The lockfile is read once, when the policy is made.

use std::path::Path;
use std::sync::Arc;

use super::approve_hint;
use super::lockfile::{Lockfile, LockfileError};
use super::sha256::with_algorithm;
use super::verdict::ListingReview;
use crate::config::{ApprovalMode, Config, Grants};

/// The mode of comparison and the approvals. Clones share the approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    mode: ApprovalMode,
    lockfile: Arc<Lockfile>,
    /// The folder of the lockfile: paths in grants are relative to it.
    folder: Arc<Path>,
    /// The options of `plugport approve` that lead to these plugins.
    approve_options: Arc<str>,
}

impl ApprovalPolicy {
    /// The policy with `lockfile`, which lies at `file`. Its hints have no options for other folders than the defaults.
    #[must_use]
    pub fn new(mode: ApprovalMode, lockfile: Lockfile, file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        Self { mode, lockfile: Arc::new(lockfile), folder: folder.into(), approve_options: Arc::default() }
    }

    /// The policy with the lockfile of this configuration, which is read unless the mode is `Off`.
    ///
    /// # Errors
    /// When the lockfile cannot be read or is not as it was written.
    pub fn read(mode: ApprovalMode, config: &Config) -> Result<Self, LockfileError> {
        let lockfile =
            if mode == ApprovalMode::Off { Lockfile::default() } else { Lockfile::read(&config.lock)? };
        Ok(Self {
            approve_options: approve_hint::options(config).into(),
            ..Self::new(mode, lockfile, &config.lock)
        })
    }

    /// The policy under which everything passes.
    #[must_use]
    pub fn off() -> Self {
        Self::new(ApprovalMode::Off, Lockfile::default(), Path::new(""))
    }

    /// The mode of comparison.
    #[must_use]
    pub fn mode(&self) -> ApprovalMode {
        self.mode
    }

    /// Whether `other` compares a plugin with the same approval, so that a second comparison is not needed.
    #[must_use]
    pub fn is_same_for(&self, other: &Self, plugin: &str) -> bool {
        self.mode == other.mode && self.lockfile.get(plugin) == other.lockfile.get(plugin)
    }

    /// Whether a plugin of this name was approved.
    #[must_use]
    pub fn knows(&self, plugin: &str) -> bool {
        self.lockfile.get(plugin).is_some()
    }

    /// Checks a plugin before it runs, by the digest of its file in hex and by its grants, which may be fewer than were
    /// approved. Gives a warning when the plugin may run although it differs from its approval.
    ///
    /// # Errors
    /// When it may not run, with the reason.
    pub fn check_file(&self, plugin: &str, digest: &str, grants: &Grants) -> Result<Option<String>, String> {
        if self.mode == ApprovalMode::Off {
            return Ok(None);
        }
        let is_within = |approved: &[String]| {
            grants.describe_relative_to(&self.folder).iter().all(|granted| approved.contains(granted))
        };
        let mismatch = match self.lockfile.get(plugin) {
            None => Some("has not been approved"),
            Some(approved) if approved.digest != with_algorithm(digest) => {
                Some("is not the file that was approved")
            }
            Some(approved) if !is_within(&approved.grants) => {
                Some("is granted other things than were approved")
            }
            Some(_) => None,
        };
        let approve_command = || approve_hint::approve_command(plugin, &self.approve_options);
        match mismatch.map(|mismatch| format!("{mismatch}; {} to see it and accept it", approve_command())) {
            Some(why) if self.mode == ApprovalMode::Strict => Err(why),
            warning => Ok(warning),
        }
    }

    /// Begins to compare a listing of this plugin, which imports these interfaces, with its approval. `None`:
    /// everything passes.
    #[must_use]
    pub fn review_listing(&self, plugin: &str, imports: &[String]) -> Option<ListingReview<'_>> {
        let is_strict = match self.mode {
            ApprovalMode::Off => return None,
            mode => mode == ApprovalMode::Strict,
        };
        let approve_command = approve_hint::approve_command(plugin, &self.approve_options);
        Some(ListingReview::new(approve_command, is_strict, self.lockfile.get(plugin), imports))
    }
}

#[cfg(test)]
mod tests {
    use super::super::approved_plugin::ApprovedPlugin;
    use super::*;
    use crate::config::{ElicitationGrant, KvGrant, KvPer};

    fn approved() -> ApprovedPlugin {
        ApprovedPlugin {
            digest: "sha256:aa".to_owned(),
            grants: vec!["keep up to 16 MiB between calls".to_owned()],
            ..ApprovedPlugin::default()
        }
    }

    fn approval(mode: ApprovalMode) -> ApprovalPolicy {
        let mut lockfile = Lockfile::default();
        lockfile.approve("p", approved());
        ApprovalPolicy::new(mode, lockfile, Path::new("plugport.lock"))
    }

    fn kv() -> Grants {
        Grants { keyvalue: Some(KvGrant::default()), ..Grants::default() }
    }

    #[test]
    fn what_is_not_as_it_was_approved_does_not_run() {
        let strict = approval(ApprovalMode::Strict);
        assert_eq!(strict.check_file("p", "aa", &kv()), Ok(None));
        let stored = |quota_mib, per| Some(KvGrant { quota_mib, per });
        let other = Grants { keyvalue: stored(17, KvPer::Plugin), ..Grants::default() };
        let of_callers = Grants { keyvalue: stored(16, KvPer::Caller), ..Grants::default() };
        let more = Grants { elicitation: ElicitationGrant(true), ..kv() };
        for (plugin, digest, grants, why) in [
            ("q", "aa", &kv(), "has not been approved; run `plugport approve q`"),
            ("p", "ab", &kv(), "is not the file that was approved; run `plugport approve p`"),
            ("p", "aa", &other, "is granted other things than were approved; run"),
            ("p", "aa", &of_callers, "is granted other things than were approved; run"),
            ("p", "aa", &more, "is granted other things than were approved; run"),
        ] {
            let told = strict.check_file(plugin, digest, grants).unwrap_err();
            assert!(told.starts_with(why), "{told}");
            assert_eq!(approval(ApprovalMode::Warn).check_file(plugin, digest, grants), Ok(Some(told)));
            assert_eq!(approval(ApprovalMode::Off).check_file(plugin, digest, grants), Ok(None));
        }
        assert_eq!(approval(ApprovalMode::Warn).check_file("p", "aa", &kv()), Ok(None));
        assert_eq!(strict.check_file("p", "aa", &Grants::default()), Ok(None), "less than was approved");
        assert_eq!(ApprovalPolicy::off().check_file("q", "ab", &other), Ok(None));
    }

    #[test]
    fn a_plugin_is_looked_at_again_only_when_something_of_it_is_different() {
        let (one, mut lockfile) = (approval(ApprovalMode::Strict), Lockfile::default());
        lockfile.approve("p", approved());
        lockfile.approve("q", ApprovedPlugin::default());
        let more = ApprovalPolicy::new(ApprovalMode::Strict, lockfile, Path::new("plugport.lock"));
        assert!(
            one.is_same_for(&more, "p")
                && !one.is_same_for(&more, "q")
                && !one.is_same_for(&approval(ApprovalMode::Warn), "p")
        );
    }
}
