//! The items that are published but hidden from one caller.
//!
//! A handler uses the caller's snapshot, which lacks hidden items. Two other parts must know hidden items: the audit,
//! which names a hidden item that a caller tried to use, and results, which may link to hidden resources. Both compare
//! the caller's snapshot with the published one; neither makes a decision. This module must not be used for the
//! response to a request for an item: that response must be the same whether the item is hidden or does not exist.

use std::sync::Arc;

use super::super::server::Server;
use crate::call_env::Caller;
use crate::catalog::{PublishedPrompt, PublishedTool, Snapshot};
use crate::plugin::{Content, ContentData, Plugin, ResourceContents};

/// Comparing a URI with one template takes about as long as processing this many bytes.
const TEMPLATE_WORK: usize = 32;

/// The hidden items of one caller.
#[derive(Debug)]
pub(in super::super) struct HiddenItems {
    published: Arc<Snapshot>,
    visible: Arc<Snapshot>,
}

impl HiddenItems {
    /// Returns `None` without roles, because then nothing is hidden.
    pub(in super::super) fn of(server: &Server, caller: &Caller) -> Option<Self> {
        let (visible, view) = server.catalog.current_for(&caller.subject());
        view.filter(|view| view.policy.has_roles())?;
        Some(Self { published: server.catalog.current(), visible })
    }

    /// Returns the hidden tool with this published name.
    pub(in super::super) fn tool(&self, name: &str) -> Option<&Arc<PublishedTool>> {
        self.published.tool(name).filter(|_| self.visible.tool(name).is_none())
    }

    /// Returns the hidden prompt with this published name.
    pub(in super::super) fn prompt(&self, name: &str) -> Option<&Arc<PublishedPrompt>> {
        self.published.prompt(name).filter(|_| self.visible.prompt(name).is_none())
    }

    /// Returns the plugin of a hidden URI and the plugin's own name of the item: the URI of a listed resource, and
    /// otherwise the text of the template. The text of a template counts as a URI too.
    pub(in super::super) fn uri(&self, uri: &str) -> Option<(&Arc<Plugin>, String)> {
        if self.visible.plugin_for_ref(uri).is_some() {
            return None;
        }
        if let Some(template) = self.published.templates().get(uri) {
            return Some((&template.plugin, uri.to_owned()));
        }
        let is_listed = self.published.resources().get(uri).is_some();
        let (plugin, template) = self.published.route_uri(uri)?;
        let template = template.filter(|_| !is_listed).map(|template| template.uri_template);
        Some((plugin, template.unwrap_or_else(|| uri.to_owned())))
    }

    /// The cost of looking up this many URIs, in bytes of JSON: each may be compared with each template.
    pub(in super::super) fn work(&self, uris: usize) -> usize {
        uris.saturating_mul(self.published.templates().items().len()).saturating_mul(TEMPLATE_WORK)
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.published.plugin_for_uri(uri).is_some() && self.visible.plugin_for_uri(uri).is_none()
    }
}

/// Finds the resources that a result links to, embeds or contains and that are hidden from its caller. A URI that no
/// plugin publishes is never hidden.
#[derive(Debug)]
pub(super) struct HiddenLinks {
    /// `None` if nothing is hidden, or the result has no links.
    hidden: Option<HiddenItems>,
    links: usize,
}

impl HiddenLinks {
    pub(super) fn of<'c>(
        server: &Server,
        caller: &Caller,
        contents: impl Iterator<Item = &'c Content>,
    ) -> Self {
        let is_link =
            |content: &&Content| matches!(content.data, ContentData::Link(_) | ContentData::Embedded(_));
        Self::counted(server, caller, contents.filter(is_link).count())
    }

    /// The links of what was read at `uri`: contents with other URIs.
    pub(super) fn of_read(server: &Server, caller: &Caller, uri: &str, read: &[ResourceContents]) -> Self {
        Self::counted(server, caller, read.iter().filter(|contents| contents.uri != uri).count())
    }

    fn counted(server: &Server, caller: &Caller, links: usize) -> Self {
        let hidden = if links > 0 { HiddenItems::of(server, caller) } else { None };
        Self { hidden, links }
    }

    pub(super) fn hide(&self, uri: &str) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.has_resource(uri))
    }

    /// The cost of finding the hidden resources, in bytes of JSON.
    pub(super) fn work(&self) -> usize {
        self.hidden.as_ref().map_or(0, |hidden| hidden.work(self.links))
    }
}
