//! On which terms files become plugins: what the operator says of each.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::load::Opened;
use super::refusal::Refusal;
use crate::catalog::{Entry, LockError, Pins};
use crate::config::{Config, Grants, Pin, PluginConfig};

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

    /// The same with another configuration, and with what is approved now. Blocks.
    pub(super) fn with(&self, config: Arc<Config>) -> Result<Self, LockError> {
        let pins = Pins::read(config.server.pin.unwrap_or(self.usual), &config)?;
        Ok(Self { config, pins, usual: self.usual, grant: self.grant })
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
}
