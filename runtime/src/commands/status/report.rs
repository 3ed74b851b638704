//! The status document: what a server tells of itself, as one set of types.
//!
//! The server writes it to its sockets, `plugport status --json` prints it and the table is made from it, so a field is said once.
//! `docs/status.md` says what each means. A reader takes documents of other versions: what it does not know it ignores, and what is
//! missing is as if nothing were there. Nothing here knows where the values come from or how they are shown.

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
    /// Those that are served, those that drain, then files that are not served.
    pub(super) plugins: Vec<PluginStatus>,
}

/// Something that the server cannot follow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ProblemStatus {
    pub(super) kind: String,
    pub(super) reason: String,
}

/// One version of a plugin, or a file of which nothing is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PluginStatus {
    /// None for a file that cannot be a plugin.
    pub(super) name: Option<String>,
    pub(super) file: Option<String>,
    /// `sha256:` and hexadecimal digits.
    pub(super) digest: Option<String>,
    pub(super) state: String,
    pub(super) reason: Option<String>,
    /// None unless it is served, as the next two.
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

/// What calls of one version have come to.
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
    /// The limits that were hit, each with how often.
    pub(super) limits: BTreeMap<String, u64>,
    pub(super) fuel: u64,
    /// RFC 3339.
    pub(super) last_call: Option<String>,
}
