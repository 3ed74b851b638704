//! The `[telemetry]` table: what other programs learn of this server while it runs.

mod otlp;

use std::path::Path;

pub use otlp::{OtlpConfig, OtlpEndpoint, OtlpEndpointError};

use super::toml_reader::{TomlReader, TomlTable};

/// Where the server sends and shows what it does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The collector of traces; `None`: there are no traces.
    pub otlp: Option<OtlpConfig>,
}

impl TelemetryConfig {
    pub(super) fn read(mut from: TomlTable<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Self {
        let otlp = from.take("otlp").and_then(|entry| OtlpConfig::read(entry, base, reader));
        from.finish(reader, &["otlp"]);
        Self { otlp }
    }
}
