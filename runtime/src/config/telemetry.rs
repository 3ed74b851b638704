//! The `[telemetry]` table: where metrics and probes are served. Without it nothing is recorded.

use std::net::SocketAddr;

use super::server::parse_address;
use super::toml_reader::{TomlReader, TomlTable};

/// The port of OpenTelemetry's exporters for Prometheus.
const DEFAULT_PORT: u16 = 9464;

/// How the server is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// Where `/metrics`, `/health` and `/ready` are served; `None`: nowhere.
    pub listen: Option<SocketAddr>,
}

const KEYS: &[&str] = &["listen"];

impl TelemetryConfig {
    pub(super) fn read(mut from: TomlTable<'_>, reader: &mut TomlReader<'_>) -> Self {
        let mut telemetry = Self::default();
        if let Some(entry) = from.take("listen")
            && let Some(text) = entry.string(reader)
        {
            match parse_address(&text, DEFAULT_PORT) {
                Ok(address) => telemetry.listen = Some(address),
                Err(message) => reader.report(entry.span, &entry.key, message),
            }
        }
        from.finish(reader, KEYS);
        telemetry
    }

    /// A remark when other machines can read the metrics.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let address = self.listen.filter(|address| !address.ip().is_loopback())?;
        Some(format!(
            "other machines can read the metrics at {address}: the names of plugins and tools, and how often they are \
             called; have a firewall in front of it, or choose a loopback address for `listen` under [telemetry]"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, ConfigError, Grants};
    use super::*;
    use crate::observe::metrics::Metrics;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.toml");
        std::fs::write(&file, text).unwrap();
        Config::read(&file, dir.path().join("plugins"))
    }

    #[test]
    fn metrics_are_served_where_the_operator_says_and_else_nowhere() {
        assert_eq!(read("[server]\n").unwrap().telemetry, TelemetryConfig::default());
        let telemetry = |text: &str| read(text).unwrap().telemetry;
        let local = telemetry("[telemetry]\nlisten = \"localhost:9464\"\n");
        assert_eq!((local.listen, local.remark()), (Some(SocketAddr::from(([127, 0, 0, 1], 9464))), None));
        let open = telemetry("[telemetry]\nlisten = \"0.0.0.0:9464\"\n");
        assert!(open.remark().is_some_and(|remark| remark.contains("0.0.0.0:9464")));
    }

    #[test]
    fn mistakes_are_reported_with_line_and_key() {
        let message = read("[telemetry]\nlisten = \"127.0.0.1\"\notlp = true\n").unwrap_err().to_string();
        for expected in [
            ":2: telemetry.listen: `127.0.0.1` is not an address with a port; write one such as 127.0.0.1:9464",
            ":3: telemetry.otlp: unknown key",
        ] {
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
        }
    }

    #[test]
    fn the_denials_of_every_grant_are_counted_apart() {
        let metrics = Metrics::new();
        let plugin = metrics.plugin("p");
        let imports = Grants::imports();
        imports.iter().flat_map(|import| &import.keys).for_each(|key| plugin.denied(key));
        let text = metrics.exposition();
        assert!(text.contains("plugport_denials_total{plugin=\"p\",grant=\"_OTHER\"} 0\n"), "{text}");
    }
}
