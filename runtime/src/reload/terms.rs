//! On which terms files become plugins: what the operator says of each.

use std::path::Path;
use std::sync::Arc;

use super::refusal::Refusal;
use crate::config::{Config, Grants, PluginConfig};

/// What holds while files are looked into.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The configuration.
    pub config: Arc<Config>,
    grant: bool,
}

impl Terms {
    /// Plugins are loaded as they are to be served.
    #[must_use]
    pub fn new(config: Arc<Config>) -> Self {
        Self { config, grant: true }
    }

    /// The same, but no plugin is given what it is granted.
    #[must_use]
    pub fn ungranted(self) -> Self {
        Self { grant: false, ..self }
    }

    /// The same with another configuration.
    pub(super) fn with(&self, config: Config) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// What holds for the plugin of this name in the file `path`. Blocks.
    pub(super) fn settings(&self, name: &str, path: &Path) -> Result<PluginConfig, Refusal> {
        let said = self.config.plugin_at(name, path);
        let mut settings = said.map_err(|error| Refusal::new(error.to_string().replace("\n  ", " ")))?;
        if !self.grant {
            settings.grants = Grants::default();
        }
        Ok(settings)
    }
}
