//! The configuration and the approvals by which files become plugins.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::folder_scan::name_of;
use super::load_failure::LoadFailure;
use crate::approval::{ApprovalPolicy, LockfileError};
use crate::catalog::{Claimant, NameOwners, PluginEntry};
use crate::config::{ApprovalMode, Config, Grants, PluginConfig};
use crate::plugin::Signer;

/// What holds while files are loaded.
#[derive(Debug, Clone)]
pub struct LoadPolicy {
    /// The configuration.
    pub config: Arc<Config>,
    /// What plugins are compared with.
    pub approval: ApprovalPolicy,
    /// How strict these are when the configuration does not say.
    default_mode: ApprovalMode,
    with_grants: bool,
}

impl LoadPolicy {
    /// Plugins are loaded as they are to be served, where the server listens.
    ///
    /// # Errors
    /// When what was approved matters and cannot be read.
    pub fn read(config: Arc<Config>, listening: Option<SocketAddr>) -> Result<Self, LockfileError> {
        let default_mode = ApprovalMode::default_for(listening);
        let approval = ApprovalPolicy::read(config.server.approval.unwrap_or(default_mode), &config)?;
        Ok(Self { config, approval, default_mode, with_grants: true })
    }

    /// The same, but no plugin is given what it is granted.
    #[must_use]
    pub fn ungranted(self) -> Self {
        Self { with_grants: false, ..self }
    }

    /// The same with another configuration.
    pub(super) fn with_config(&self, config: Config) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// The same with what is approved now. Blocks.
    pub(super) fn with_lock(&self) -> Result<Self, LockfileError> {
        let approval =
            ApprovalPolicy::read(self.config.server.approval.unwrap_or(self.default_mode), &self.config)?;
        Ok(Self { approval, ..self.clone() })
    }

    /// Whether approvals are compared as strictly as the configuration says.
    pub(super) fn has_configured_mode(&self) -> bool {
        self.approval.mode() == self.config.server.approval.unwrap_or(self.default_mode)
    }

    /// To whom names belong when these files are in the folder.
    pub(super) fn owners<'p>(&self, files: impl Iterator<Item = &'p Path>) -> NameOwners {
        owners(&self.config, files, |plugin| self.approval.knows(plugin))
    }

    /// What the operator says of the plugin of this name in the file `path`. Blocks.
    pub(super) fn plugin_config(&self, name: &str, path: &Path) -> Result<PluginConfig, LoadFailure> {
        let said = self.config.plugin_with_sidecar(name, path);
        said.map_err(|error| LoadFailure::new(error.to_string().replace("\n  ", " ")))
    }

    /// What of that the plugin gets.
    pub(super) fn effective(&self, settings: PluginConfig) -> PluginConfig {
        let grants = if self.with_grants { settings.grants } else { Grants::default() };
        PluginConfig { grants, ..settings }
    }

    /// Whether a file of this digest with these settings is what is served, compared with what is approved now.
    pub(super) fn is_served(&self, known: &PluginEntry, digest: &str, settings: &PluginConfig) -> bool {
        let same = known.plugin.digest() == digest && known.plugin.config() == settings;
        same && known.approval.is_same_for(&self.approval, known.plugin.name())
    }

    /// Whether what is served may go on although what lies at `path` does not take its place: nothing that it has may
    /// have been taken away from it meanwhile. Blocks.
    pub(super) fn decide(&self, known: &PluginEntry, path: &Path) -> ServeDecision {
        let plugin = &known.plugin;
        let (name, had) = (plugin.name(), plugin.config());
        let central = || self.config.plugin(name);
        let (now, within) = match self.plugin_config(name, path) {
            Ok(now) => {
                let within = had.grants.is_subset_of(&now.grants);
                (now, within)
            }
            // Mistakes beside the plugin take nothing away, but what may not be granted there is not granted by
            // mistake.
            Err(_) if self.config.server.sidecar_grants => (central(), true),
            Err(_) => (central(), had.grants.is_subset_of(&central().grants)),
        };
        if !within || !is_trusted(plugin.signer(), &now) {
            return ServeDecision::No;
        }
        let strict = self.approval.mode() == ApprovalMode::Strict;
        match self.approval.check_file(name, plugin.digest(), &had.grants) {
            Ok(_) if strict && !known.approval.is_same_for(&self.approval, name) => ServeDecision::Update,
            Ok(_) => ServeDecision::Yes,
            Err(_) if self.approval.knows(name) => ServeDecision::Update,
            Err(_) => ServeDecision::No,
        }
    }
}

/// To whom names belong when these files are in the folder: to plugins that are read, compiled or rejected alike. A
/// file beside a plugin has no say.
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

/// Whether what is served may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServeDecision {
    /// Nothing was taken away from it.
    Yes,
    /// Only until it is known whether what was approved instead can take its place.
    Update,
    /// Something that it has was taken away.
    No,
}

/// Whether what is required of signatures now holds for a plugin that was signed so.
fn is_trusted(signer: Option<&Signer>, now: &PluginConfig) -> bool {
    let keys = &now.trusted_keys;
    match signer {
        Some(_) if keys.is_empty() && !now.require_signature => true,
        Some(signer) => keys.find(signer.key).is_some_and(|key| key.is_valid_at(SystemTime::now())),
        None => !now.require_signature,
    }
}
