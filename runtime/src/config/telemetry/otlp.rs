//! `otlp` under `[telemetry]`: the collector that gets traces, by OTLP over HTTP.
//!
//! `http` may lead to another machine here, unlike the URLs of authorization servers: collectors commonly stand beside
//! the server in a private network without certificates, and a span has nothing secret. Headers may have secrets, so
//! they need `https` or a collector on this machine.

use std::fmt;
use std::path::Path;

use http::{HeaderName, HeaderValue, Uri};

use crate::capability::plugin_grants::config::Secret;
use crate::config::url_authority::{MAX_URL, host_and_port};
use crate::config::{Host, Scheme};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Most headers of a request to the collector.
const MAX_HEADERS: usize = 16;

/// Traces in a second, unless the configuration says otherwise.
const TRACES_PER_SECOND: u64 = 10;

/// Most traces in a second that may be configured.
const MAX_TRACES_PER_SECOND: u64 = 1_000;

/// Where OTLP adds the signal to the path.
const TRACES: &str = "v1/traces";

const KEYS: &[&str] = &["endpoint", "headers", "traces_per_second"];

/// A collector of traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpConfig {
    /// Where it is.
    pub endpoint: OtlpEndpoint,
    /// Headers of each request to it, by name. Their values are secrets.
    pub headers: Vec<(String, Secret)>,
    /// How many traces begin in a second at most.
    pub traces_per_second: u64,
}

/// The URL of a collector, to which the path of a signal is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpEndpoint {
    scheme: Scheme,
    host: Host,
    port: u16,
    /// Ends with a slash.
    path: String,
}

/// Why a text is no URL of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OtlpEndpointError {
    /// Not a URL, or one that could be read in two ways.
    #[error(
        "is no URL of a collector; write one such as http://127.0.0.1:4318, without a user and without a query"
    )]
    NoUrl,
    /// Another protocol.
    #[error("must begin with https:// or http://; traces are sent by OTLP over HTTP")]
    Scheme,
}

impl OtlpEndpoint {
    /// Parses a URL.
    ///
    /// # Errors
    /// When it is no URL of a collector.
    pub fn parse(text: &str) -> Result<Self, OtlpEndpointError> {
        let is_text = text.len() <= MAX_URL && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_text || text.contains(['#', '?', '\\']) {
            return Err(OtlpEndpointError::NoUrl);
        }
        let uri: Uri = text.parse().map_err(|_| OtlpEndpointError::NoUrl)?;
        let scheme = match uri.scheme_str() {
            Some("https") => Scheme::Https,
            Some("http") => Scheme::Http,
            Some(_) => return Err(OtlpEndpointError::Scheme),
            None => return Err(OtlpEndpointError::NoUrl),
        };
        let (host, port) = host_and_port(&uri, scheme).ok_or(OtlpEndpointError::NoUrl)?;
        let path = format!("{}/", uri.path().trim_end_matches('/'));
        Ok(Self { scheme, host, port, path })
    }

    /// The name or the address, without brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.host {
            Host::Address(address) => address.to_string(),
            Host::Name(name) => name.clone(),
        }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether requests go over TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// The host, and the port where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { scheme, host, port, .. } = self;
        if *port == scheme.port() { host.to_string() } else { format!("{host}:{port}") }
    }

    /// The path that traces are posted to.
    #[must_use]
    pub fn traces_path(&self) -> String {
        format!("{}{TRACES}", self.path)
    }

    /// Whether nobody between the two can read a request.
    fn is_private(&self) -> bool {
        self.is_tls()
            || match &self.host {
                Host::Address(address) => address.is_loopback(),
                Host::Name(_) => false,
            }
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.path)
    }
}

impl OtlpConfig {
    /// Reads the table. `None`: something is wrong, which is reported.
    pub(super) fn read(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let endpoint = table.take("endpoint").and_then(|entry| read_endpoint(&entry, reader));
        let headers = table.take("headers");
        let headers_span = headers.as_ref().map(|entry| entry.span.clone());
        let headers = headers.map(|entry| read_headers(entry, base, reader)).unwrap_or_default();
        let traces_per_second = table
            .take_number("traces_per_second", 1, MAX_TRACES_PER_SECOND, reader)
            .unwrap_or(TRACES_PER_SECOND);
        table.finish(reader, KEYS);
        if endpoint.is_none() && !reader.has_diagnostics(&path) {
            reader.report(
                span,
                &path,
                "needs `endpoint`, the URL of a collector such as http://127.0.0.1:4318",
            );
        }
        let endpoint = endpoint?;
        if let Some(span) = headers_span.filter(|_| !endpoint.is_private()) {
            let why = "would go over the network in the open; write `endpoint` with https://, or with the address of \
                       this machine, such as http://127.0.0.1:4318";
            reader.report(span, &format!("{path}.headers"), why);
        }
        Some(Self { endpoint, headers, traces_per_second })
    }
}

fn read_endpoint(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<OtlpEndpoint> {
    let text = entry.string(reader)?;
    let parsed = OtlpEndpoint::parse(&text);
    parsed.map_err(|error| reader.report(entry.span.clone(), &entry.key, error.to_string())).ok()
}

fn read_headers(entry: TomlEntry<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Vec<(String, Secret)> {
    let (path, span) = (entry.key.clone(), entry.span.clone());
    let Some(mut table) = entry.table(reader) else { return Vec::new() };
    let entries = table.take_all();
    if entries.len() > MAX_HEADERS {
        reader.report(span, &path, format!("may have at most {MAX_HEADERS} headers"));
        return Vec::new();
    }
    let mut headers = Vec::new();
    for (name, entry) in entries {
        let (key, span) = (entry.key.clone(), entry.span.clone());
        let Some(secret) = Secret::read(entry, base, reader) else { continue };
        let is_name = HeaderName::from_bytes(name.as_bytes()).is_ok();
        if !is_name || HeaderValue::from_str(secret.expose_secret()).is_err() {
            let why = "cannot be sent as a header: a name has letters, digits and dashes, and a value is one line of \
                       visible ASCII";
            reader.report(span, &key, why);
            continue;
        }
        headers.push((name, secret));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigError};

    fn parse(text: &str) -> Result<Option<OtlpConfig>, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("key"), "canary-secret\n").unwrap();
        std::fs::write(dir.path().join("lines"), "canary\nsecret\n").unwrap();
        let file = dir.path().join("plugport.toml");
        std::fs::write(&file, text).unwrap();
        Ok(Config::read(&file, dir.path().join("plugins"))?.telemetry.otlp)
    }

    #[test]
    fn a_collector_needs_no_more_than_its_url() {
        assert_eq!(parse("").unwrap(), None);
        assert_eq!(parse("[telemetry]\n").unwrap(), None);
        let otlp = parse("[telemetry]\notlp = { endpoint = \"http://127.0.0.1:4318\" }\n").unwrap().unwrap();
        assert_eq!((otlp.traces_per_second, otlp.headers.len()), (10, 0));
        assert_eq!(otlp.endpoint.to_string(), "http://127.0.0.1:4318/");
        let text = "[telemetry.otlp]\nendpoint = \"https://otlp.example.com/tenant/\"\ntraces_per_second = 100\n\
                    headers = { api-key = { file = \"key\" } }\n";
        let otlp = parse(text).unwrap().unwrap();
        assert_eq!((otlp.traces_per_second, otlp.headers.len()), (100, 1));
        assert!(!format!("{otlp:?}").contains("canary"), "{otlp:?}");
    }

    #[test]
    fn a_url_is_taken_apart() {
        for (text, authority, path) in [
            ("http://127.0.0.1:4318", "127.0.0.1:4318", "/v1/traces"),
            ("http://[::1]:4318/", "[::1]:4318", "/v1/traces"),
            ("http://otel-collector:4318", "otel-collector:4318", "/v1/traces"),
            ("https://otlp.example.com/a/b/", "otlp.example.com", "/a/b/v1/traces"),
        ] {
            let endpoint = OtlpEndpoint::parse(text).unwrap();
            assert_eq!((endpoint.authority().as_str(), endpoint.traces_path().as_str()), (authority, path));
        }
        assert_eq!(OtlpEndpoint::parse("http://[::1]:4318").unwrap().host(), "::1");
        assert_eq!(OtlpEndpoint::parse("ftp://a/"), Err(OtlpEndpointError::Scheme));
        for text in [
            "",
            "127.0.0.1:4318",
            "http://",
            "http://a@b/",
            "http://a:0",
            "http://a:x",
            "http://a/?b",
            "http://a/#b",
        ] {
            assert_eq!(OtlpEndpoint::parse(text), Err(OtlpEndpointError::NoUrl), "{text}");
        }
    }

    #[test]
    fn every_mistake_is_reported_with_its_line_and_key() {
        for (text, expected) in [
            ("otlp = {}", ":2: telemetry.otlp: needs `endpoint`"),
            ("otlp = \"http://a\"", ":2: telemetry.otlp: expected a table"),
            (
                "otlp = { endpoint = \"grpc://a:4317\" }",
                ":2: telemetry.otlp.endpoint: must begin with https://",
            ),
            ("otlp = { endpoint = \"http://a\", protocol = 1 }", ":2: telemetry.otlp.protocol: unknown key"),
            (
                "otlp = { endpoint = \"http://127.0.0.1\", traces_per_second = 0 }",
                ":2: telemetry.otlp.traces_per_second: must be a whole number from 1 to 1000",
            ),
            (
                "otlp = { endpoint = \"https://a.test\", headers = { api-key = \"canary\" } }",
                ":2: telemetry.otlp.headers.api-key: say where the secret is",
            ),
            (
                "otlp = { endpoint = \"https://a.test\", headers = { \"a b\" = { file = \"key\" } } }",
                ":2: telemetry.otlp.headers.a b: cannot be sent as a header",
            ),
            (
                "otlp = { endpoint = \"https://a.test\", headers = { a = { file = \"lines\" } } }",
                ":2: telemetry.otlp.headers.a: cannot be sent as a header",
            ),
            (
                "otlp = { endpoint = \"http://a.test\", headers = { a = { file = \"key\" } } }",
                ":2: telemetry.otlp.headers: would go over the network in the open",
            ),
        ] {
            let message = parse(&format!("[telemetry]\n{text}\n")).unwrap_err().to_string();
            assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
            assert!(!message.contains("canary"), "a secret was repeated:\n{message}");
        }
    }
}
