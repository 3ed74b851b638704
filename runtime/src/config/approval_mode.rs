//! `approval`: what happens to a plugin that differs from its approval.

use std::net::SocketAddr;

use super::toml_reader::{TomlEntry, TomlReader};

/// How strictly plugins are compared with what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Not compared: a developer's folder.
    Off,
    /// Plugins that differ are served, and the log has a warning.
    Warn,
    /// Plugins that differ are pending approval until the operator has approved them.
    Strict,
}

impl ApprovalMode {
    pub(super) fn read(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let text = entry.string(reader)?;
        let mode = Self::parse(&text);
        if mode.is_none() {
            reader.report(entry.span.clone(), &entry.key, "must be \"off\", \"warn\" or \"strict\"");
        }
        mode
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "warn" => Some(Self::Warn),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }

    /// The default: a server that other machines can reach serves only approved plugins.
    #[must_use]
    pub fn default_for(listening: Option<SocketAddr>) -> Self {
        match listening {
            Some(address) if !address.ip().is_loopback() => Self::Strict,
            _ => Self::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_machines_can_reach_is_strict() {
        let default = |address: &str| ApprovalMode::default_for(Some(address.parse().unwrap()));
        assert_eq!((default("127.0.0.1:1"), default("[::1]:1")), (ApprovalMode::Off, ApprovalMode::Off));
        assert_eq!(
            (default("0.0.0.0:1"), default("10.0.0.5:1")),
            (ApprovalMode::Strict, ApprovalMode::Strict)
        );
        assert_eq!(ApprovalMode::default_for(None), ApprovalMode::Off);
        assert_eq!(
            (ApprovalMode::parse("warn"), ApprovalMode::parse("loose")),
            (Some(ApprovalMode::Warn), None)
        );
    }
}
