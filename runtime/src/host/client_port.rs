//! What a guest may tell or ask the client, seen from below.
//!
//! The trait belongs to this layer and the protocol layer implements it, so that no file down here knows a revision, a
//! session or a stream. One port serves one call.

/// Severity of a log message, as in RFC 5424 and the WIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For whoever debugs the plugin.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
    /// A component failed.
    Critical,
    /// Someone must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// Who is asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The client's name, empty if it gave none.
    pub name: String,
    /// The client's version, empty if it gave none.
    pub version: String,
    /// The MCP revision spoken, e.g. `2026-07-28`; empty without a client.
    pub protocol: String,
}

/// The client of one call.
pub trait ClientPort: Send + Sync {
    /// Who is asking.
    fn client(&self) -> ClientInfo;
    /// The request's `_meta` without the keys that the protocol reserves, as a JSON object.
    fn meta(&self) -> Option<String>;
    /// Whether the client has withdrawn the request.
    fn cancelled(&self) -> bool;
    /// A log message; `data` is JSON on one line.
    fn log(&self, level: LogLevel, logger: Option<&str>, data: &serde_json::value::RawValue);
    /// Progress made; `progress` only ever grows.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>);
}

/// The port of a call that nobody is connected to: listing, or a call from the command line.
#[derive(Debug, Clone, Copy)]
pub struct NoClient;

impl ClientPort for NoClient {
    fn client(&self) -> ClientInfo {
        ClientInfo::default()
    }

    fn meta(&self) -> Option<String> {
        None
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn log(&self, _: LogLevel, _: Option<&str>, _: &serde_json::value::RawValue) {}

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}
}
