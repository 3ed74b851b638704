//! On which terms files become plugins: what the operator says of each.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::load::Opened;
use super::refusal::Refusal;
use super::scan::name_of;
use crate::catalog::{Claimant, Entry, LockError, Owners, Pins};
use crate::config::{Config, Grants, Pin, PluginConfig};
use crate::plugin::Signed;

/// What holds while files are looked into.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The configuration.
    pub config: Arc<Config>,
    /// By what plugins are judged.
    pub pins: Pins,
    /// How strict these are when the configuration does not say.
    usual: Pin,
    grant: bool,
}

impl Terms {
    /// Plugins are loaded as they are to be served, where the server listens.
    ///
    /// # Errors
    /// When what was approved matters and cannot be read.
    pub fn read(config: Arc<Config>, listening: Option<SocketAddr>) -> Result<Self, LockError> {
        let usual = Pin::usual(listening);
        let pins = Pins::read(config.server.pin.unwrap_or(usual), &config)?;
        Ok(Self { config, pins, usual, grant: true })
    }

    /// The same, but no plugin is given what it is granted.
    #[must_use]
    pub fn ungranted(self) -> Self {
        Self { grant: false, ..self }
    }

    /// The same with another configuration.
    pub(super) fn with_config(&self, config: Config) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// The same with what is approved now. Blocks.
    pub(super) fn with_lock(&self) -> Result<Self, LockError> {
        let pins = Pins::read(self.config.server.pin.unwrap_or(self.usual), &self.config)?;
        Ok(Self { pins, ..self.clone() })
    }

    /// Whether the pins are as strict as the configuration wants.
    pub(super) fn has_its_pins(&self) -> bool {
        self.pins.mode() == self.config.server.pin.unwrap_or(self.usual)
    }

    /// To whom names belong when these files are in the folder.
    pub(super) fn owners<'p>(&self, files: impl Iterator<Item = &'p Path>) -> Owners {
        owners(&self.config, files, |plugin| self.pins.knows(plugin))
    }

    /// What the operator says of the plugin of this name in the file `path`. Blocks.
    pub(super) fn settings(&self, name: &str, path: &Path) -> Result<PluginConfig, Refusal> {
        let said = self.config.plugin_at(name, path);
        said.map_err(|error| Refusal::new(error.to_string().replace("\n  ", " ")))
    }

    /// What of that the plugin gets.
    pub(super) fn given(&self, settings: PluginConfig) -> PluginConfig {
        let grants = if self.grant { settings.grants } else { Grants::default() };
        PluginConfig { grants, ..settings }
    }

    /// Whether this is what is served and judged by what is approved now.
    pub(super) fn is_served(&self, known: &Entry, Opened { name, settings, artifact, .. }: &Opened) -> bool {
        let same = known.plugin.digest() == artifact.digest && known.plugin.config() == settings;
        same && known.pins.agree(&self.pins, name)
    }

    /// Whether what is served may go on although what lies at `path` does not take its place: nothing that it has may have been
    /// taken away from it meanwhile. Blocks.
    pub(super) fn permits(&self, known: &Entry, path: &Path) -> Permit {
        let plugin = &known.plugin;
        let (name, had) = (plugin.name(), plugin.config());
        let central = || self.config.plugin(name);
        let (now, within) = match self.settings(name, path) {
            Ok(now) => {
                let within = had.grants.is_within(&now.grants);
                (now, within)
            }
            // Mistakes beside the plugin take nothing away, but what may not be granted there is not granted by mistake.
            Err(_) if self.config.server.grants_beside => (central(), true),
            Err(_) => (central(), had.grants.is_within(&central().grants)),
        };
        if !within || !is_trusted(plugin.signed(), &now) {
            return Permit::No;
        }
        let strict = self.pins.mode() == Pin::Strict;
        match self.pins.before(name, plugin.digest(), &had.grants) {
            Ok(_) if strict && !known.pins.agree(&self.pins, name) => Permit::Update,
            Ok(_) => Permit::Yes,
            Err(_) if self.pins.knows(name) => Permit::Update,
            Err(_) => Permit::No,
        }
    }
}

/// To whom names belong when these files are in the folder: to plugins that are read, compiled or refused alike. A file beside
/// a plugin has no say.
pub fn owners<'p>(
    config: &Config,
    files: impl Iterator<Item = &'p Path>,
    is_approved: impl Fn(&str) -> bool,
) -> Owners {
    let names = files.filter_map(|file| name_of(file).ok());
    Owners::new(names.map(|plugin| {
        let section = config.plugins.get(&plugin);
        let prefix = section.map_or_else(|| plugin.clone(), |section| section.prefix.clone());
        Claimant { prefix, named: section.is_some(), approved: is_approved(&plugin), plugin }
    }))
}

/// Whether what is served may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// Nothing was taken away from it.
    Yes,
    /// Only until it is known whether what was approved instead can take its place.
    Update,
    /// Something that it has was taken away.
    No,
}

/// Whether what is required of signatures now holds for a plugin that was signed so.
fn is_trusted(signed: Option<&Signed>, now: &PluginConfig) -> bool {
    let keys = &now.signature_keys;
    match signed {
        Some(_) if keys.is_empty() && !now.require_signature => true,
        Some(signed) => keys.find(signed.key).is_some_and(|key| key.holds(SystemTime::now())),
        None => !now.require_signature,
    }
}
