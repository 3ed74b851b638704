//! What callers with the same roles see of a snapshot.
//!
//! Everything below reads a snapshot in which hidden items do not exist, so no handler can forget to ask: a list, a
//! call, a completion and a subscription look up the same filtered lists. Only a URI that a template matches is decided
//! one by one, since nothing lists it.

use std::sync::Arc;

use super::item_list::Item;
use super::items::PublishedTool;
use super::plugin_entry::PluginEntry;
use crate::access::policy::{Hints, Item as PolicyItem, Policy, RoleSet};
use crate::config::{ApprovalMode, ItemKind};

/// The policy, and the roles of a caller in it.
#[derive(Debug, Clone)]
pub struct CallerView {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The roles.
    pub roles: RoleSet,
}

impl CallerView {
    pub(super) fn sees<T: Item>(&self, item: &T) -> bool {
        self.is_visible(item.owner(), T::KIND, item.key(), None, Hints::default())
    }

    pub(super) fn sees_tool(&self, tool: &PublishedTool, entry: Option<&Arc<PluginEntry>>) -> bool {
        let hints = entry.map(|entry| hints(tool, entry)).unwrap_or_default();
        self.is_visible(tool.owner(), ItemKind::Tool, tool.key(), None, hints)
    }

    /// Whether this URI may be read: one that a plugin lists, or one that `template` matches.
    pub(super) fn sees_uri(&self, plugin: &str, uri: &str, template: Option<&str>) -> bool {
        self.is_visible(plugin, ItemKind::Resource, uri, template, Hints::default())
    }

    fn is_visible(
        &self,
        plugin: &str,
        kind: ItemKind,
        name: &str,
        template: Option<&str>,
        hints: Hints,
    ) -> bool {
        self.policy.is_visible(self.roles, &PolicyItem { plugin, kind, name, template, hints, scopes: &[] })
    }
}

/// The annotations of a tool that the operator approved: those of a plugin that is served only as approved. What others
/// claim opens no door.
pub(crate) fn hints(tool: &PublishedTool, entry: &PluginEntry) -> Hints {
    if entry.approval.mode() != ApprovalMode::Strict {
        return Hints::default();
    }
    let Some(annotations) = &tool.tool.annotations else { return Hints::default() };
    Hints {
        read_only: annotations.read_only,
        destructive: annotations.destructive,
        idempotent: annotations.idempotent,
        open_world: annotations.open_world,
    }
}
