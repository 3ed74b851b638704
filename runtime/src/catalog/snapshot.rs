//! Everything that is offered at one moment, immutable and in one order.
//!
//! The order is that of names, so it does not depend on when a file was copied or which plugin compiled first. Entries stay
//! as they were vetted and what plugins dispute is settled here, from what they offer and to whom names belong, so that a new
//! snapshot can be made when one of them changes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::disputes::{Disputes, Listed};
use super::entry::{Entry, Refused};
use super::list::{Item as _, Kind, List};
use super::owners::{Claimant, Owners, Right};
use super::published::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
use super::uri;
use crate::plugin::Plugin;

/// One moment's catalog.
#[derive(Debug)]
pub struct Snapshot {
    entries: Vec<Arc<Entry>>,
    owners: Arc<Owners>,
    /// What plugins want and may not have, by plugin.
    disputed: HashMap<String, Vec<Refused>>,
    tools: List<PublishedTool>,
    resources: List<PublishedResource>,
    /// Who may answer for URIs that look like listed ones.
    listed: Listed,
    templates: List<PublishedTemplate>,
    prompts: List<PublishedPrompt>,
}

impl Snapshot {
    /// Joins plugins as if they were all that the folder has.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        let claimants = entries.iter().map(|entry| {
            let (plugin, prefix) = (entry.plugin.name().to_owned(), entry.plugin.config().prefix.clone());
            Claimant { named: prefix != plugin, plugin, prefix, approved: false }
        });
        let owners = Owners::new(claimants);
        Self::owned(entries, Arc::new(owners))
    }

    /// Joins plugins of a folder in which names belong to these.
    #[must_use]
    pub fn owned(entries: Vec<Entry>, owners: Arc<Owners>) -> Self {
        Self::of(entries.into_iter().map(Arc::new).collect(), owners)
    }

    /// The same with one plugin's part replaced or added.
    #[must_use]
    pub fn with(&self, entry: Arc<Entry>) -> Self {
        self.changed(vec![entry], &[], Arc::clone(&self.owners))
    }

    /// The same with the parts of some plugins replaced or added, each once, and those of others taken away, where names
    /// belong to these now.
    #[must_use]
    pub fn changed(&self, fresh: Vec<Arc<Entry>>, gone: &[String], owners: Arc<Owners>) -> Self {
        let names: HashSet<&str> = fresh.iter().map(|entry| entry.plugin.name()).collect();
        let stays = |name: &str| !names.contains(name) && !gone.iter().any(|gone| gone == name);
        let others: Vec<_> =
            self.entries.iter().filter(|other| stays(other.plugin.name())).cloned().collect();
        drop(names);
        Self::of(fresh.into_iter().chain(others).collect(), owners)
    }

    fn of(mut entries: Vec<Arc<Entry>>, owners: Arc<Owners>) -> Self {
        entries.sort_by(|a, b| a.plugin.name().cmp(b.plugin.name()));
        let stands = |entry: &&Arc<Entry>| owners.held_back(entry.plugin.name()).is_none();
        let standing: Vec<&Arc<Entry>> = entries.iter().filter(stands).collect();
        let mut disputes = Disputes::new(&owners);
        let tools = disputes.names(standing.iter().flat_map(|entry| &entry.tools));
        let prompts = disputes.names(standing.iter().flat_map(|entry| &entry.prompts));
        let (templates, leads) = disputes.templates(standing.iter().flat_map(|entry| &entry.templates));
        let resources = standing.iter().flat_map(|entry| &entry.resources);
        let (resources, listed) = disputes.resources(resources, &leads);
        for entry in &standing {
            entry.refused.iter().for_each(|refused| disputes.explain(entry.plugin.name(), refused));
        }
        let (tools, prompts) = (List::new(tools), List::new(prompts));
        let (templates, resources) = (List::new(templates), List::new(resources));
        let disputed = disputes.refused;
        Self { entries, owners, disputed, tools, resources, listed, templates, prompts }
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

    /// To whom names belong.
    #[must_use]
    pub fn owners(&self) -> &Arc<Owners> {
        &self.owners
    }

    /// What of a plugin is not published, and why.
    pub fn refused<'s>(&'s self, entry: &'s Entry) -> impl Iterator<Item = &'s Refused> {
        let disputed = self.disputed(entry.plugin.name());
        // What belongs to another plugin is told as that, whatever else is the matter with it.
        let is_told = |own: &Refused| {
            own.key.is_some() && disputed.iter().any(|told| (told.kind, &told.name) == (own.kind, &own.name))
        };
        entry.refused.iter().filter(move |own| !is_told(own)).chain(disputed)
    }

    /// What a plugin wants and may not have.
    #[must_use]
    pub fn disputed(&self, plugin: &str) -> &[Refused] {
        self.disputed.get(plugin).map(Vec::as_slice).unwrap_or_default()
    }

    /// What other plugins want of this one: each with the name or URI, and who wants it.
    pub fn wanted_of<'s>(&'s self, plugin: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let of_each = self.entries.iter().map(|entry| entry.plugin.name());
        let all = of_each.flat_map(|other| self.disputed(other).iter().map(move |refused| (refused, other)));
        let wanted = all.filter(move |(refused, _)| refused.owner.as_deref() == Some(plugin));
        wanted.filter_map(|(refused, other)| Some((refused.key.as_deref()?, other)))
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

    /// The plugin that reads this URI: the one that lists it, else the first one with a template for it, unless the URI
    /// belongs to another one or could be taken for what another one lists.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<&Arc<Plugin>> {
        let listed = self.resources.get(uri).map(|resource| &resource.plugin);
        listed.or_else(|| self.templated(uri))
    }

    fn templated(&self, uri: &str) -> Option<&Arc<Plugin>> {
        let mut matching = self.templates.items().iter().filter(|template| template.matches(uri)).peekable();
        matching.peek()?;
        let looks = uri::looks(uri);
        let lists = self.listed.get(&looks.text);
        let may_answer = |template: &&Arc<PublishedTemplate>| {
            let own = template.owner();
            !self.owners.denies_uri(own, &looks) && lists.is_none_or(|lists| lists.as_deref() == Some(own))
        };
        matching.find(may_answer).map(|template| &template.plugin)
    }

    /// Whether a plugin answers for this URI that no stranger can take it from: the URI names it, or the operator's file does.
    #[must_use]
    pub fn is_beyond_dispute(&self, uri: &str) -> bool {
        let kind = if uri.contains('{') { Kind::Template } else { Kind::Resource };
        let right =
            |plugin: &Arc<Plugin>| self.owners.judge(plugin.name(), kind, uri).map(|(right, _)| right);
        self.referred(uri).map(right).is_some_and(|right| right.is_ok_and(|right| right >= Right::Named))
    }

    /// The plugin that serves a reference in a completion: the template written like this, or as [`Snapshot::resource`].
    #[must_use]
    pub fn referred(&self, reference: &str) -> Option<&Arc<Plugin>> {
        let template = self.templates.get(reference).map(|template| &template.plugin);
        template.or_else(|| self.resource(reference))
    }
}
