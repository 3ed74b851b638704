//! The host's interfaces that a component of an interpreter imports only if its plugin uses them.

use serde::Deserialize;

/// A world of `plugport:plugin` with some of these interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostWorld {
    /// Requests to other hosts.
    Http,
    /// What a plugin keeps between calls.
    Keyvalue,
    /// What the operator sets for a plugin.
    Config,
    /// Calls that become tasks when the plugin says so.
    Detaching,
}

impl HostWorld {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::Keyvalue, Self::Config, Self::Detaching];

    /// Its name in the WIT.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Keyvalue => "keyvalue",
            Self::Config => "config",
            Self::Detaching => "detaching",
        }
    }
}
