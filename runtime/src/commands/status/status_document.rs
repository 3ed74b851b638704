//! The status document: the report of a server on itself, as one set of types.
//!
//! The server writes it to its sockets, and `plugport status` prints it as JSON or as a table, so each field is defined
//! once. `docs/status.md` says what each means. A reader accepts documents of other versions: it ignores unknown
//! fields, and missing fields have their defaults. Nothing here knows where the values come from or how they are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::commands::published_names::PublishedNames;

/// One server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::commands) struct StatusReport {
    pub(super) version: String,
    pub(super) pid: u32,
    /// RFC 3339.
    pub(super) since: String,
    /// The address for clients, or `stdio`.
    pub(super) serving: String,
    pub(super) folder: String,
    pub(super) config: Option<String>,
    pub(super) approval: String,
    pub(super) problems: Vec<ProblemStatus>,
    /// Served versions, then draining ones, then files that are not served.
    pub(super) plugins: Vec<PluginStatus>,
}

/// Something that the server cannot read now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ProblemStatus {
    pub(super) kind: String,
    pub(super) reason: String,
}

/// One version of a plugin, or a file that is not served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PluginStatus {
    /// `None` for a file that cannot be a plugin.
    pub(super) name: Option<String>,
    pub(super) file: Option<String>,
    /// `sha256:` and hexadecimal digits.
    pub(super) digest: Option<String>,
    pub(super) state: String,
    pub(super) reason: Option<String>,
    /// `None` unless the version is served, like the next two fields.
    pub(super) published: Option<PublishedNames>,
    pub(super) unpublished: Option<Vec<UnpublishedItem>>,
    pub(super) unpublished_more: Option<usize>,
    pub(super) quarantined_s: Option<u64>,
    pub(super) instances: Option<String>,
    pub(super) idle_instances: Option<usize>,
    #[serde(flatten)]
    pub(super) counts: CallCounts,
}

/// An item of a plugin that clients do not see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UnpublishedItem {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) reason: String,
}

/// Counters of the calls of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CallCounts {
    pub(super) calls: u64,
    pub(super) running: u64,
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) terminated: u64,
    pub(super) cancelled: u64,
    pub(super) rejected: u64,
    /// How often each limit was hit.
    pub(super) limits: BTreeMap<String, u64>,
    pub(super) fuel: u64,
    /// RFC 3339.
    pub(super) last_call: Option<String>,
}
