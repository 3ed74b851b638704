//! The configuration and the approvals by which files become plugins.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::folder_scan::name_of;
use super::rejected_file::LoadFailure;
use crate::approval::{ApprovalPolicy, LockfileError};
use crate::catalog::{Claimant, NameOwners, PluginEntry};
use crate::config::{ApprovalMode, Config, PluginConfig, RequiredScopes};
use crate::plugin::Signer;

/// The configuration and the approvals for loading files.
#[derive(Debug, Clone)]
pub struct LoadPolicy {
    /// The configuration.
    pub config: Arc<Config>,
    /// The approvals that plugins are compared with.
    pub approval: ApprovalPolicy,
    /// The approval mode if the configuration sets none.
    default_mode: ApprovalMode,
    with_grants: bool,
    /// The file with the sources of the plugin that `plugport dev` serves.
    dev_sources: Option<PathBuf>,
}

impl LoadPolicy {
    /// Reads the approvals for `config`. The default approval mode depends on the address that the server listens on.
    ///
    /// # Errors
    /// When the lockfile is needed and cannot be read.
    pub fn read(config: Arc<Config>, listening: Option<SocketAddr>) -> Result<Self, LockfileError> {
        let default_mode = ApprovalMode::default_for(listening);
        let approval = ApprovalPolicy::read(config.server.approval.unwrap_or(default_mode), &config)?;
        Ok(Self { config, approval, default_mode, with_grants: true, dev_sources: None })
    }

    /// The same policy without any grants.
    #[must_use]
    pub fn ungranted(self) -> Self {
        Self { with_grants: false, ..self }
    }

    /// The same policy for the server of `plugport dev`, with the file of the plugin's sources.
    #[must_use]
    pub fn with_dev_sources(self, dev_sources: Option<PathBuf>) -> Self {
        Self { dev_sources, ..self }
    }

    /// The same policy with another configuration.
    pub(super) fn with_config(&self, config: Config) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// The same policy with the lockfile as it is now. Blocks.
    pub(super) fn with_current_lockfile(&self) -> Result<Self, LockfileError> {
        let approval =
            ApprovalPolicy::read(self.config.server.approval.unwrap_or(self.default_mode), &self.config)?;
        Ok(Self { approval, ..self.clone() })
    }

    /// Whether the approval mode is the one that the configuration sets.
    pub(super) fn has_configured_mode(&self) -> bool {
        self.approval.mode() == self.config.server.approval.unwrap_or(self.default_mode)
    }

    /// Which plugin owns which names when these files are in the folder.
    pub(super) fn owners<'p>(&self, files: impl Iterator<Item = &'p Path>) -> NameOwners {
        owners(&self.config, files, |plugin| self.approval.knows(plugin))
    }

    /// The operator's settings for the plugin `name` in the file `path`. Blocks.
    pub(super) fn plugin_config(&self, name: &str, path: &Path) -> Result<PluginConfig, LoadFailure> {
        let settings = self.config.plugin_with_sidecar(name, path);
        let settings = settings.map_err(|error| LoadFailure::new(error.to_string().replace("\n  ", " ")))?;
        Ok(PluginConfig { dev_sources: self.read_dev_sources()?, ..settings })
    }

    /// The sources that `plugport dev` has written. An approval is of a file's digest, which says nothing of them.
    fn read_dev_sources(&self) -> Result<Option<Arc<str>>, LoadFailure> {
        let Some(file) = &self.dev_sources else { return Ok(None) };
        let sources = match std::fs::read_to_string(file) {
            Ok(sources) => sources,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(LoadFailure::new(format!("has unreadable sources: {error}; save one again")));
            }
        };
        if !sources.is_empty() && self.approval.mode() != ApprovalMode::Off {
            let why = "needs an approval now, and its sources are data, which nobody can approve; start `plugport dev` \
                       again";
            return Err(LoadFailure::new(why.to_owned()));
        }
        Ok(Some(sources.into()))
    }

    /// The settings with which the plugin is loaded. Its scopes are the policy's and not its own, so a change of scopes
    /// loads nothing again.
    pub(super) fn effective(&self, settings: PluginConfig) -> PluginConfig {
        let grants = if self.with_grants { settings.grants } else { settings.grants.of_no_guest() };
        PluginConfig { grants, scopes: RequiredScopes::default(), ..settings }
    }

    /// Whether a file with this digest and these settings is served already, under the current approvals.
    pub(super) fn is_served(&self, known: &PluginEntry, digest: &str, settings: &PluginConfig) -> bool {
        let same = known.plugin.digest() == digest && known.plugin.config() == settings;
        same && known.approval.is_same_for(&self.approval, known.plugin.name())
    }

    /// Whether the served version may go on although the file at `path` does not replace it: its grants, approval and
    /// signature must still hold. Blocks.
    pub(super) fn decide(&self, known: &PluginEntry, path: &Path) -> ServeDecision {
        let plugin = &known.plugin;
        let (name, served) = (plugin.name(), plugin.config());
        let central = || self.config.plugin(name);
        let (now, within) = match self.plugin_config(name, path) {
            Ok(now) => {
                let within = served.grants.is_subset_of(&now.grants);
                (now, within)
            }
            // A mistake in the sidecar revokes nothing. But if sidecars may not grant anything, a sidecar with a
            // mistake grants nothing either.
            Err(_) if self.config.server.sidecar_grants => (central(), true),
            Err(_) => (central(), served.grants.is_subset_of(&central().grants)),
        };
        if !within || !is_trusted(plugin.signer(), &now) {
            return ServeDecision::No;
        }
        let strict = self.approval.mode() == ApprovalMode::Strict;
        match self.approval.check_file(name, plugin.digest(), &served.grants) {
            Ok(_) if strict && !known.approval.is_same_for(&self.approval, name) => ServeDecision::Update,
            Ok(_) => ServeDecision::Yes,
            Err(_) if self.approval.knows(name) => ServeDecision::Update,
            Err(_) => ServeDecision::No,
        }
    }
}

/// Which plugin owns which names when these files are in the folder, whether the plugins are loaded, waiting or
/// rejected. Sidecars do not count.
pub fn owners<'p>(
    config: &Config,
    files: impl Iterator<Item = &'p Path>,
    is_approved: impl Fn(&str) -> bool,
) -> NameOwners {
    let names = files.filter_map(|file| name_of(file).ok());
    NameOwners::new(names.map(|plugin| {
        let section = config.plugins.get(&plugin);
        let prefix = section.map_or_else(|| plugin.clone(), |section| section.prefix.clone());
        Claimant { prefix, named: section.is_some(), approved: is_approved(&plugin), plugin }
    }))
}

/// Whether a served version may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServeDecision {
    /// Its grants, approval and signature still hold.
    Yes,
    /// It may go on until it is known whether the file that is approved instead can replace it.
    Update,
    /// A grant, its approval or its signature was revoked.
    No,
}

/// Whether a plugin with this signer meets the current settings on signatures.
fn is_trusted(signer: Option<&Signer>, now: &PluginConfig) -> bool {
    let keys = &now.trusted_keys;
    match signer {
        Some(_) if keys.is_empty() && !now.require_signature => true,
        Some(signer) => keys.find(signer.key).is_some_and(|key| key.is_valid_at(SystemTime::now())),
        None => !now.require_signature,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_dev_are_read_if_there_are_any_unless_approvals_are_required() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("served.sources");
        let read = |mode: ApprovalMode| {
            let mut config = Config::new(dir.path().to_owned());
            (config.server.approval, config.lock) = (Some(mode), dir.path().join("plugport.lock"));
            let policy = LoadPolicy::read(Arc::new(config), None).unwrap();
            assert!(
                policy.read_dev_sources().is_ok_and(|sources| sources.is_none()),
                "it is no server of dev"
            );
            policy.with_dev_sources(Some(file.clone())).read_dev_sources()
        };
        assert_eq!(read(ApprovalMode::Off).unwrap().as_deref(), Some(""));
        assert_eq!(read(ApprovalMode::Strict).unwrap().as_deref(), Some(""));
        std::fs::write(&file, "sources").unwrap();
        assert_eq!(read(ApprovalMode::Off).unwrap().as_deref(), Some("sources"));
        for mode in [ApprovalMode::Warn, ApprovalMode::Strict] {
            assert!(read(mode).unwrap_err().why.contains("approval"));
        }
        std::fs::write(&file, b"\xff").unwrap();
        assert!(read(ApprovalMode::Off).unwrap_err().why.contains("unreadable"));
    }
}
