//! The extensions of MCP that this server declares, each with its settings. No other file lists them.

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::client_requests::client_capabilities::{ClientCapabilities, TASKS};
use super::revision::Revision;

struct Extension {
    name: &'static str,
    /// JSON.
    settings: &'static str,
    is_in: fn(Revision) -> bool,
}

const TABLE: [Extension; 3] = [
    Extension {
        name: "io.modelcontextprotocol/skills",
        settings: r#"{"directoryRead":true}"#,
        is_in: |_| true,
    },
    Extension { name: TASKS, settings: "{}", is_in: Revision::has_tasks_extension },
    Extension {
        name: "io.modelcontextprotocol/ui",
        settings: r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#,
        is_in: |_| true,
    },
];

/// The field `extensions` of the server's capabilities.
#[derive(Debug)]
pub(super) struct Extensions {
    revision: Revision,
}

impl Extensions {
    /// All that a revision has.
    pub(super) fn of(revision: Revision) -> Self {
        Self { revision }
    }

    /// Extensions came after the revisions with sessions. A client of an older revision gets them if it declares some
    /// itself; another one might reject a field that it does not know.
    pub(super) fn for_client(revision: Revision, client: ClientCapabilities) -> Option<Self> {
        (revision.has_extensions() || client.extensions).then(|| Self::of(revision))
    }
}

impl Serialize for Extensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for extension in TABLE.iter().filter(|extension| (extension.is_in)(self.revision)) {
            let settings: &RawValue = serde_json::from_str(extension.settings).map_err(S::Error::custom)?;
            map.serialize_entry(extension.name, settings)?;
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
    }

    #[test]
    fn a_revision_with_tasks_in_its_core_has_no_extension_for_them() {
        let of = |revision| serde_json::to_value(Extensions::of(revision)).unwrap();
        let newest = of(Revision::V2026_07_28);
        assert_eq!(newest["io.modelcontextprotocol/skills"], serde_json::json!({ "directoryRead": true }));
        assert!(newest.get(TASKS).is_some() && of(Revision::V2025_11_25).get(TASKS).is_none());
    }
}
