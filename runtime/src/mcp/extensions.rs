//! The extensions of MCP that this server declares, each with its settings. No other file lists them.

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::client_requests::client_capabilities::ClientCapabilities;
use super::revision::Revision;

/// Names and settings. A line declares an extension for every client that gets this table.
const TABLE: [(&str, &str); 2] = [
    ("io.modelcontextprotocol/skills", r#"{"directoryRead":true}"#),
    ("io.modelcontextprotocol/ui", r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#),
];

/// The field `extensions` of the server's capabilities.
#[derive(Debug)]
pub(super) struct Extensions;

impl Extensions {
    /// Extensions came after the revisions with sessions. A client of an older revision gets them if it declares some
    /// itself; another one might reject a field that it does not know.
    pub(super) fn for_client(revision: Revision, client: ClientCapabilities) -> Option<Self> {
        (revision.has_extensions() || client.extensions).then_some(Self)
    }
}

impl Serialize for Extensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(TABLE.len()))?;
        for (name, settings) in TABLE {
            let settings: &RawValue = serde_json::from_str(settings).map_err(S::Error::custom)?;
            map.serialize_entry(name, settings)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_clients_get_extensions_if_they_declare_some() {
        let declares = |revision, extensions| {
            let client = ClientCapabilities { extensions, ..ClientCapabilities::default() };
            Extensions::for_client(revision, client).is_some()
        };
        assert!(declares(Revision::V2026_07_28, false) && declares(Revision::V2025_11_25, false));
        assert!(declares(Revision::V2025_06_18, true) && !declares(Revision::V2025_06_18, false));
        let skills = &serde_json::to_value(Extensions).unwrap()["io.modelcontextprotocol/skills"];
        assert_eq!(*skills, serde_json::json!({ "directoryRead": true }));
    }
}
