//! Everything that is published at one moment, immutable and in one order.
//!
//! The order is that of names, so it does not depend on when a file was copied or which plugin compiled first. Entries
//! stay as they were validated; name conflicts are resolved here, from the items of all plugins and the owners of
//! names, so a new snapshot can be made when one of them changes.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use super::caller_view::CallerView;
use super::item_list::{Item as _, ItemList};
use super::items::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
use super::list_changes::ListDigests;
use super::name_conflicts::{NameConflicts, UriOwners};
use super::name_owners::{Claimant, NameOwners, Rank};
use super::page_cache::PageBudget;
use super::plugin_entry::{PluginEntry, RejectedItem};
use super::uri;
use crate::plugin::{ItemKind, MatchedTemplate, Plugin};

/// What the URIs of the files in components begin with.
const SKILLS: &str = "skill://";
const APPS: &str = "ui://";

/// One moment's catalog.
#[derive(Debug)]
pub struct Snapshot {
    entries: Arc<[Arc<PluginEntry>]>,
    owners: Arc<NameOwners>,
    /// Items rejected because another plugin has their name or URI, by plugin.
    name_conflicts: Arc<HashMap<String, Vec<RejectedItem>>>,
    tools: ItemList<PublishedTool>,
    /// Whether any plugin has bridged calls.
    has_result_tools: bool,
    resources: ItemList<PublishedResource>,
    /// The plugins that may serve URIs that look like listed ones.
    uri_owners: Arc<UriOwners>,
    templates: ItemList<PublishedTemplate>,
    prompts: ItemList<PublishedPrompt>,
    /// Bounds the pages of all lists; shared with views, and with the snapshots before and after.
    pages: Arc<PageBudget>,
    /// Whose view this is; `None`: everything that is published.
    caller_view: Option<CallerView>,
    /// What the listed URIs look like, in a caller's view that needed it: comparing all of them takes long.
    listed_forms: OnceLock<HashSet<String>>,
}

impl Snapshot {
    /// A snapshot of these plugins, as if the folder had no others.
    #[must_use]
    pub fn new(entries: Vec<PluginEntry>) -> Self {
        let claimants = entries.iter().map(|entry| {
            let (plugin, prefix) = (entry.plugin.name().to_owned(), entry.plugin.config().prefix.clone());
            Claimant { named: prefix != plugin, plugin, prefix, approved: false }
        });
        let owners = NameOwners::new(claimants);
        Self::with_owners(entries, Arc::new(owners))
    }

    /// A snapshot of these plugins, with these owners of names.
    #[must_use]
    pub fn with_owners(entries: Vec<PluginEntry>, owners: Arc<NameOwners>) -> Self {
        Self::of(entries.into_iter().map(Arc::new).collect(), owners, Arc::default())
    }

    /// The same with one plugin's part replaced or added.
    #[must_use]
    pub fn with(&self, entry: Arc<PluginEntry>) -> Self {
        self.changed(vec![entry], &[], Arc::clone(&self.owners))
    }

    /// The same with the `fresh` entries replaced or added, without the `gone` plugins, and with these owners of names.
    #[must_use]
    pub fn changed(&self, fresh: Vec<Arc<PluginEntry>>, gone: &[String], owners: Arc<NameOwners>) -> Self {
        let names: HashSet<&str> = fresh.iter().map(|entry| entry.plugin.name()).collect();
        let stays = |name: &str| !names.contains(name) && !gone.iter().any(|gone| gone == name);
        let others: Vec<_> =
            self.entries.iter().filter(|other| stays(other.plugin.name())).cloned().collect();
        drop(names);
        Self::of(fresh.into_iter().chain(others).collect(), owners, Arc::clone(&self.pages))
    }

    fn of(mut entries: Vec<Arc<PluginEntry>>, owners: Arc<NameOwners>, pages: Arc<PageBudget>) -> Self {
        entries.sort_by(|a, b| a.plugin.name().cmp(b.plugin.name()));
        let is_served = |entry: &&Arc<PluginEntry>| owners.withheld(entry.plugin.name()).is_none();
        let served: Vec<&Arc<PluginEntry>> = entries.iter().filter(is_served).collect();
        let mut conflicts = NameConflicts::new(&owners);
        let tools = conflicts.names(served.iter().flat_map(|entry| entry.all_tools()));
        let has_result_tools = served.iter().any(|entry| entry.result_tool.is_some());
        let prompts = conflicts.names(served.iter().flat_map(|entry| &entry.prompts));
        let (templates, prefixes) = conflicts.templates(served.iter().flat_map(|entry| &entry.templates));
        let resources = served.iter().flat_map(|entry| &entry.resources);
        let (resources, uri_owners) = conflicts.resources(resources, &prefixes);
        for entry in &served {
            entry.rejected.iter().for_each(|rejected| conflicts.explain(entry.plugin.name(), rejected));
        }
        let (tools, prompts) = (ItemList::new(tools, &pages), ItemList::new(prompts, &pages));
        let (templates, resources) = (ItemList::new(templates, &pages), ItemList::new(resources, &pages));
        let (name_conflicts, uri_owners) = (Arc::new(conflicts.rejected), Arc::new(uri_owners));
        let (entries, caller_view) = (entries.into(), None);
        Self {
            entries,
            owners,
            name_conflicts,
            tools,
            has_result_tools,
            resources,
            uri_owners,
            templates,
            prompts,
            pages,
            caller_view,
            listed_forms: OnceLock::new(),
        }
    }

    /// The snapshot as callers with this view see it: as if the other items did not exist. It shares everything else
    /// with this one, which must be of all items.
    #[must_use]
    pub fn visible_to(&self, view: CallerView) -> Self {
        let mut seen = Self {
            entries: Arc::clone(&self.entries),
            owners: Arc::clone(&self.owners),
            name_conflicts: Arc::clone(&self.name_conflicts),
            tools: self.tools.filtered(|tool| view.sees_tool(tool, self.entry(tool.owner()))),
            has_result_tools: self.has_result_tools,
            resources: self
                .resources
                .filtered(|resource| view.sees_uri(resource.owner(), resource.key(), None)),
            uri_owners: Arc::clone(&self.uri_owners),
            templates: self.templates.filtered(|template| view.sees(template)),
            prompts: self.prompts.filtered(|prompt| view.sees(prompt)),
            pages: Arc::clone(&self.pages),
            caller_view: Some(view),
            listed_forms: OnceLock::new(),
        };
        // A tool whose app is hidden is as one that has none. Whoever cannot read an app that only a template matches
        // learns that where they read it: matching the templates for each tool would take long.
        let hides = |uri: &str| self.resources.get(uri).is_some() && seen.resources.get(uri).is_none();
        let without_app =
            |tool: &PublishedTool| tool.app_uri.as_deref().is_some_and(hides).then(|| tool.without_app());
        let tools = seen.tools.replaced(without_app);
        seen.tools = tools;
        seen
    }

    /// The digests of its lists.
    #[must_use]
    pub fn list_digests(&self) -> ListDigests {
        let (tools, prompts) = (self.tools.id(), self.prompts.id());
        ListDigests::new(tools, self.resources.id(), self.templates.id(), prompts)
    }

    /// Whether no item is published.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.items().is_empty()
            && self.resources.items().is_empty()
            && self.templates.items().is_empty()
            && self.prompts.items().is_empty()
    }

    /// The plugins, by name.
    #[must_use]
    pub fn entries(&self) -> &[Arc<PluginEntry>] {
        &self.entries
    }

    /// The entry of the plugin with this name.
    #[must_use]
    pub fn entry(&self, plugin: &str) -> Option<&Arc<PluginEntry>> {
        let at = self.entries.binary_search_by(|entry| entry.plugin.name().cmp(plugin));
        self.entries.get(at.ok()?)
    }

    /// The owners of names.
    #[must_use]
    pub fn owners(&self) -> &Arc<NameOwners> {
        &self.owners
    }

    /// The items of a plugin that are not published, with the reasons.
    pub fn rejected<'s>(&'s self, entry: &'s PluginEntry) -> impl Iterator<Item = &'s RejectedItem> {
        let name_conflicts = self.name_conflicts(entry.plugin.name());
        // For an item with several reasons, a name conflict is the one that is reported.
        let is_conflict = |own: &RejectedItem| {
            own.key.is_some()
                && name_conflicts.iter().any(|other| (other.kind, &other.name) == (own.kind, &own.name))
        };
        entry.rejected.iter().filter(move |own| !is_conflict(own)).chain(name_conflicts)
    }

    /// The items of a plugin that are rejected because another one has their name or URI.
    #[must_use]
    pub fn name_conflicts(&self, plugin: &str) -> &[RejectedItem] {
        self.name_conflicts.get(plugin).map(Vec::as_slice).unwrap_or_default()
    }

    /// Names and URIs of this plugin that others list too: each with the plugin that lists it.
    pub fn contested_names<'s>(&'s self, plugin: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let of_each = self.entries.iter().map(|entry| entry.plugin.name());
        let all = of_each
            .flat_map(|other| self.name_conflicts(other).iter().map(move |rejected| (rejected, other)));
        let own = all.filter(move |(rejected, _)| rejected.owner.as_deref() == Some(plugin));
        own.filter_map(|(rejected, other)| Some((rejected.key.as_deref()?, other)))
    }

    /// The tools, by name.
    #[must_use]
    pub fn tools(&self) -> &ItemList<PublishedTool> {
        &self.tools
    }

    /// The resources, by URI.
    #[must_use]
    pub fn resources(&self) -> &ItemList<PublishedResource> {
        &self.resources
    }

    /// The skills: the `SKILL.md` of each, by URI.
    pub fn skills(&self) -> impl Iterator<Item = &Arc<PublishedResource>> {
        let is_skill = |resource: &&Arc<PublishedResource>| {
            resource.file.as_ref().is_some_and(|file| file.skill.is_some())
        };
        self.resources.beginning_with(SKILLS).iter().filter(is_skill)
    }

    /// The resources below a directory of files in components, by URI. Others than files may be among them, and files
    /// of several plugins with one prefix.
    #[must_use]
    pub fn files_below(&self, directory: &str) -> &[Arc<PublishedResource>] {
        let is_named = [SKILLS, APPS]
            .iter()
            .any(|scheme| directory.len() > scheme.len() && directory.starts_with(scheme));
        match is_named && !directory.ends_with('/') {
            true => self.resources.beginning_with(&format!("{directory}/")),
            false => &[],
        }
    }

    /// The id of a list of some of the resources, for cursors.
    #[must_use]
    pub fn list_id(&self, name: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.resources.id(), name).hash(&mut hasher);
        hasher.finish()
    }

    /// The resource templates, in the order in which they are tried.
    #[must_use]
    pub fn templates(&self) -> &ItemList<PublishedTemplate> {
        &self.templates
    }

    /// The prompts, by name.
    #[must_use]
    pub fn prompts(&self) -> &ItemList<PublishedPrompt> {
        &self.prompts
    }

    /// The tool of this public name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<PublishedTool>> {
        self.tools.get(name)
    }

    /// Whether any plugin has a tool for results of bridged calls.
    #[must_use]
    pub fn has_result_tools(&self) -> bool {
        self.has_result_tools
    }

    /// The tool for results of a plugin's bridged calls, if it is published.
    #[must_use]
    pub fn result_tool(&self, plugin: &str) -> Option<&Arc<PublishedTool>> {
        let entry = self.has_result_tools.then(|| self.entry(plugin)).flatten();
        let own = entry?.result_tool.as_ref()?;
        self.tool(&own.name).filter(|tool| Arc::ptr_eq(tool, own))
    }

    /// The prompt of this public name.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Arc<PublishedPrompt>> {
        self.prompts.get(name)
    }

    /// The plugin that reads this URI: the plugin that lists it, else the first plugin with a template that matches it.
    /// A template does not count if the URI belongs to another plugin, or looks like a URI that another plugin lists.
    #[must_use]
    pub fn plugin_for_uri(&self, uri: &str) -> Option<&Arc<Plugin>> {
        let listed = self.resources.get(uri).map(|resource| &resource.plugin);
        listed.or_else(|| self.templated(uri).map(|(plugin, _)| plugin))
    }

    /// The plugin of [`Snapshot::plugin_for_uri`], and the first of its own templates that matches the URI.
    #[must_use]
    pub fn route_uri(&self, uri: &str) -> Option<(&Arc<Plugin>, Option<MatchedTemplate>)> {
        let Some(listed) = self.resources.get(uri) else {
            return self.templated(uri).map(|(plugin, template)| (plugin, Some(template)));
        };
        // A listed URI may also match a template of its plugin, even one that is hidden by another plugin's template.
        let templates = self.entry(listed.owner()).map(|entry| &entry.templates);
        let template = templates.into_iter().flatten().find_map(|template| template.match_uri(uri));
        Some((&listed.plugin, template))
    }

    fn templated(&self, uri: &str) -> Option<(&Arc<Plugin>, MatchedTemplate)> {
        let templates = self.templates.items().iter();
        let mut matching =
            templates.filter_map(|template| Some((template, template.match_uri(uri)?))).peekable();
        matching.peek()?;
        let form = uri::canonical(uri);
        let lists = self.uri_owners.get(&form.text);
        let may_serve = |(template, _): &(&Arc<PublishedTemplate>, MatchedTemplate)| {
            let own = template.owner();
            !self.owners.is_owned_by_other(own, &form)
                && lists.is_none_or(|lists| lists.as_deref() == Some(own))
                && self.may_read(own, uri, lists.is_none().then(|| template.key()))
        };
        // A listed URI that this caller does not see is not read through a template either. This is the last check, so
        // that matching takes as long as for a URI that nobody lists.
        let found = matching.find(may_serve).filter(|_| !self.resources.hides(uri));
        found.map(|(template, matched)| (&template.plugin, matched))
    }

    /// Whether the caller may read a URI that no plugin lists in this spelling, through `template`. `None`: it looks
    /// like a listed URI. Then it is decided as that one, which the caller must see, and not by the template.
    fn may_read(&self, plugin: &str, uri: &str, template: Option<&str>) -> bool {
        let Some(view) = &self.caller_view else { return true };
        let looks_listed = || {
            let listed = self.resources.items().iter();
            let forms = || listed.map(|resource| uri::canonical(resource.key()).text).collect();
            self.listed_forms.get_or_init(forms).contains(&uri::canonical(uri).text)
        };
        view.sees_uri(plugin, uri, template) && (template.is_some() || looks_listed())
    }

    /// Whether a plugin serves this URI and no other plugin can get it: the URI or the configuration names the plugin.
    #[must_use]
    pub fn has_sole_owner(&self, uri: &str) -> bool {
        let kind = if uri.contains('{') { ItemKind::Template } else { ItemKind::Resource };
        let rank = |plugin: &Arc<Plugin>| self.owners.check(plugin.name(), kind, uri).map(|(rank, _)| rank);
        self.plugin_for_ref(uri).map(rank).is_some_and(|rank| rank.is_ok_and(|rank| rank >= Rank::Named))
    }

    /// The plugin for a reference in a completion: that of the template with this text, or of
    /// [`Snapshot::plugin_for_uri`].
    #[must_use]
    pub fn plugin_for_ref(&self, reference: &str) -> Option<&Arc<Plugin>> {
        let template = self.templates.get(reference).map(|template| &template.plugin);
        template.or_else(|| self.plugin_for_uri(reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_that_follow_each_other_share_the_bound_of_their_pages() {
        let first = Snapshot::new(Vec::new());
        let next = first.changed(Vec::new(), &[], Arc::clone(first.owners()));
        assert!(Arc::ptr_eq(&first.pages, &next.pages));
        assert!(!Arc::ptr_eq(&first.pages, &Snapshot::new(Vec::new()).pages));
    }
}
