//! The `[telemetry]` table: what the server tells about itself to other programs, and where.

mod otlp;

use std::net::SocketAddr;
use std::path::Path;

pub use otlp::{OtlpConfig, OtlpEndpoint, OtlpEndpointError};

use super::server::parse_address;
use super::toml_reader::{TomlReader, TomlTable};

/// The port that scrapers know from the exporters of OpenTelemetry.
const DEFAULT_PORT: u16 = 9464;

/// What the server tells about itself. By default, nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// Where metrics and probes are served.
    pub listen: Option<SocketAddr>,
    /// The collector of traces; `None`: there are no traces.
    pub otlp: Option<OtlpConfig>,
}

const KEYS: &[&str] = &["listen", "otlp"];

impl TelemetryConfig {
    pub(super) fn read(mut from: TomlTable<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Self {
        let listen = read_listen(&mut from, reader);
        let otlp = from.take("otlp").and_then(|entry| OtlpConfig::read(entry, base, reader));
        from.finish(reader, KEYS);
        Self { listen, otlp }
    }
}

fn read_listen(from: &mut TomlTable<'_>, reader: &mut TomlReader<'_>) -> Option<SocketAddr> {
    let entry = from.take("listen")?;
    let text = entry.string(reader)?;
    match parse_address(&text, DEFAULT_PORT) {
        Ok(address) => Some(address),
        Err(message) => {
            reader.report(entry.span, &entry.key, message);
            None
        }
    }
}
