//! Everything that is offered at one moment, immutable and in one order.
//!
//! The order is that of names, so it does not depend on when a file was copied or which plugin compiled first. Entries stay
//! as they were vetted and what plugins dispute is settled here, so that a new snapshot can be made when one of them changes.

use std::collections::HashSet;
use std::sync::Arc;

use super::entry::{Entry, Refused};
use super::list::{Item as _, List};
use super::published::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
use crate::plugin::Plugin;

/// One moment's catalog.
#[derive(Debug)]
pub struct Snapshot {
    entries: Vec<Arc<Entry>>,
    /// What an earlier plugin already has, with the name of the plugin that wanted it too.
    disputed: Vec<(String, Refused)>,
    tools: List<PublishedTool>,
    resources: List<PublishedResource>,
    templates: List<PublishedTemplate>,
    prompts: List<PublishedPrompt>,
}

impl Snapshot {
    /// Joins the plugins, in the order of their names. A later plugin never takes what an earlier one has.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self::of(entries.into_iter().map(Arc::new).collect(), None)
    }

    /// The same with one plugin's part replaced or added. It takes nothing that another plugin has.
    #[must_use]
    pub fn with(&self, entry: Arc<Entry>) -> Self {
        self.changed(vec![entry], &[], false)
    }

    /// The same with the parts of some plugins replaced or added, each once, and those of others taken away. What several
    /// plugins want belongs to the one that has it, or `by_order` to the first one by name.
    #[must_use]
    pub fn changed(&self, fresh: Vec<Arc<Entry>>, gone: &[String], by_order: bool) -> Self {
        let names: HashSet<&str> = fresh.iter().map(|entry| entry.plugin.name()).collect();
        let stays = |name: &str| !names.contains(name) && !gone.iter().any(|gone| gone == name);
        let others: Vec<_> =
            self.entries.iter().filter(|other| stays(other.plugin.name())).cloned().collect();
        drop(names);
        let entries = fresh.into_iter().chain(others).collect();
        Self::of(entries, Some(self).filter(|_| !by_order))
    }

    fn of(mut entries: Vec<Arc<Entry>>, before: Option<&Self>) -> Self {
        entries.sort_by(|a, b| a.plugin.name().cmp(b.plugin.name()));
        let mut disputed = Vec::new();
        let tools = entries.iter().flat_map(|entry| &entry.tools);
        let tools = List::join(tools, before.map(|before| &before.tools), |_| None, &mut disputed);
        let templates = entries.iter().flat_map(|entry| &entry.templates);
        let templates =
            List::join(templates, before.map(|before| &before.templates), |_| None, &mut disputed);
        let resources = entries.iter().flat_map(|entry| &entry.resources);
        let had = before.map(|before| &before.resources);
        let resources = List::join(resources, had, |resource| templated(&templates, resource), &mut disputed);
        let prompts = entries.iter().flat_map(|entry| &entry.prompts);
        let prompts = List::join(prompts, before.map(|before| &before.prompts), |_| None, &mut disputed);
        Self { entries, disputed, tools, resources, templates, prompts }
    }

    /// Whether there is nothing for a client to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.items().is_empty()
            && self.resources.items().is_empty()
            && self.templates.items().is_empty()
            && self.prompts.items().is_empty()
    }

    /// The plugins, by name.
    #[must_use]
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The plugin of this name, with what it contributes.
    #[must_use]
    pub fn entry(&self, plugin: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.plugin.name() == plugin)
    }

    /// What of a plugin is not published, and why.
    pub fn refused<'s>(&'s self, entry: &'s Entry) -> impl Iterator<Item = &'s Refused> {
        let disputed = self.disputed.iter().filter(|(plugin, _)| plugin == entry.plugin.name());
        entry.refused.iter().chain(disputed.map(|(_, refused)| refused))
    }

    /// The tools, by name.
    #[must_use]
    pub fn tools(&self) -> &List<PublishedTool> {
        &self.tools
    }

    /// The resources, by URI.
    #[must_use]
    pub fn resources(&self) -> &List<PublishedResource> {
        &self.resources
    }

    /// The resource templates, in the order in which they are tried.
    #[must_use]
    pub fn templates(&self) -> &List<PublishedTemplate> {
        &self.templates
    }

    /// The prompts, by name.
    #[must_use]
    pub fn prompts(&self) -> &List<PublishedPrompt> {
        &self.prompts
    }

    /// The tool of this public name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<PublishedTool>> {
        self.tools.get(name)
    }

    /// The prompt of this public name.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Arc<PublishedPrompt>> {
        self.prompts.get(name)
    }

    /// The plugin that reads this URI: the one that lists it, else the first one with a template for it.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<&Arc<Plugin>> {
        let listed = self.resources.get(uri).map(|resource| &resource.plugin);
        let matching = || self.templates.items().iter().find(|template| template.matches(uri));
        listed.or_else(|| matching().map(|template| &template.plugin))
    }

    /// The plugin that serves a reference in a completion: the template written like this, or as [`Snapshot::resource`].
    #[must_use]
    pub fn referred(&self, reference: &str) -> Option<&Arc<Plugin>> {
        let template = self.templates.get(reference).map(|template| &template.plugin);
        template.or_else(|| self.resource(reference))
    }
}

/// The plugin before this one, in the order of names, whose template a listed resource comes from. It serves it already.
fn templated(templates: &List<PublishedTemplate>, resource: &PublishedResource) -> Option<String> {
    let earlier = |template: &&Arc<PublishedTemplate>| template.owner() < resource.owner();
    let matching = templates.items().iter().filter(earlier).find(|template| template.matches(resource.key()));
    matching.map(|template| template.owner().to_owned())
}
