//! One plugin's part of the catalog: its items as they may be published, and those that may not, with the reason.
//!
//! A bad item is left out and its plugin stays; an item is its author's mistake, and the others may be what someone
//! relies on.

use std::collections::HashSet;
use std::sync::Arc;

use super::list::{Item, Kind, Print};
use super::owners::{Owners, Taken};
use super::pins::Pins;
use super::published::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
use super::vetting::{self, VettingError};
use crate::config::Limits;
use crate::plugin::{Loaded, Offer, Plugin, Prompt, ResourceDescriptor, ResourceTemplate, Surface, Tool};

/// An item that is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which kind of item.
    pub kind: Kind,
    /// The plugin's own name for it.
    pub name: String,
    /// The name or URI that it would have, where that is known.
    pub key: Option<String>,
    /// Why.
    pub why: String,
    /// The plugin that has its name or URI, if that is why.
    pub owner: Option<String>,
}

impl Refused {
    pub(super) fn new(kind: Kind, name: String, why: String) -> Self {
        Self { kind, name, key: None, why, owner: None }
    }

    /// Of an item whose key another plugin has.
    pub(super) fn taken<T: Item>(item: &T, Taken { owner, why }: Taken) -> Self {
        let refused = Self::new(T::KIND, item.own_name().to_owned(), why);
        Self { key: Some(item.key().to_owned()), owner, ..refused }
    }
}

/// What one plugin contributes.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// What it imports and exports.
    pub surface: Surface,
    /// In order of their names.
    pub tools: Vec<Arc<PublishedTool>>,
    /// In order of their URIs.
    pub resources: Vec<Arc<PublishedResource>>,
    /// In the plugin's own order.
    pub templates: Vec<Arc<PublishedTemplate>>,
    /// In order of their names.
    pub prompts: Vec<Arc<PublishedPrompt>>,
    /// In the plugin's own order.
    pub refused: Vec<Refused>,
    /// What is shown although it is not as it was approved: a few sentences.
    pub unapproved: Vec<String>,
    /// By what it was judged, and will be when it is listed again.
    pub pins: Pins,
}

impl Entry {
    /// Vets everything that a plugin says of itself.
    #[must_use]
    pub fn vet(loaded: Loaded) -> Self {
        let Loaded { plugin, surface, offer } = loaded;
        Self::of(plugin, surface, offer)
    }

    /// The same plugin with what it offers now, vetted and not yet judged.
    #[must_use]
    pub fn listed(&self, offer: Offer) -> Self {
        Self::of(Arc::clone(&self.plugin), self.surface.clone(), offer)
    }

    /// The same without what belongs to other plugins, and that.
    #[must_use]
    pub fn without_taken(mut self, owners: &Owners) -> (Self, Vec<Refused>) {
        let mut taken = Vec::new();
        keep_own(&mut self.tools, owners, &mut taken);
        keep_own(&mut self.resources, owners, &mut taken);
        keep_own(&mut self.templates, owners, &mut taken);
        keep_own(&mut self.prompts, owners, &mut taken);
        (self, taken)
    }

    fn of(plugin: Arc<Plugin>, surface: Surface, offer: Offer) -> Self {
        let limits = &plugin.config().limits;
        let mut refused = Vec::new();
        let mut left = limits.clone();
        let tools = accept(offer.tools, ("tools", limits.tools), &mut refused, |tool| {
            let published = tool_of(&plugin, tool, &left)?;
            // The patterns that are left for the next tool.
            left.patterns = left.patterns.saturating_sub(published.patterns());
            Ok(published)
        });
        let most = ("resources", limits.resources);
        let resources = accept(offer.resources, most, &mut refused, |resource| {
            PublishedResource::vet(&plugin, resource, limits)
        });
        let most = ("resource_templates", limits.resource_templates);
        let templates = accept(offer.templates, most, &mut refused, |template| {
            PublishedTemplate::vet(&plugin, template, limits)
        });
        let prompts = accept(offer.prompts, ("prompts", limits.prompts), &mut refused, |prompt| {
            prompt_of(&plugin, prompt, limits)
        });
        let (tools, resources, prompts) = (sorted(tools), sorted(resources), sorted(prompts));
        let (unapproved, pins) = (Vec::new(), Pins::off());
        Self { tools, resources, templates, prompts, plugin, surface, refused, unapproved, pins }
    }
}

/// What a plugin calls an item that is not vetted yet.
trait Offered {
    fn own_name(&self) -> &str;
}

impl Offered for Tool {
    fn own_name(&self) -> &str {
        &self.name
    }
}

impl Offered for ResourceDescriptor {
    fn own_name(&self) -> &str {
        &self.uri
    }
}

impl Offered for ResourceTemplate {
    fn own_name(&self) -> &str {
        &self.uri_template
    }
}

impl Offered for Prompt {
    fn own_name(&self) -> &str {
        &self.name
    }
}

/// Publishes what passes, at most as many as the limit says, and each name once.
fn accept<R: Offered, T: Item>(
    offered: Vec<R>,
    (limit, most): (&str, u64),
    refused: &mut Vec<Refused>,
    mut vet: impl FnMut(R) -> Result<T, VettingError>,
) -> Vec<Arc<T>> {
    let mut refuse = |name: String, why: String| refused.push(Refused::new(T::KIND, name, why));
    let count = usize::try_from(most).unwrap_or(usize::MAX);
    let excess = offered.len().saturating_sub(count);
    let mut seen = HashSet::new();
    let mut accepted = Vec::new();
    for item in offered.into_iter().take(count) {
        let name = item.own_name().to_owned();
        if !seen.insert(name.clone()) {
            refuse(name, format!("the plugin already has a {} of this name", T::KIND.as_str()));
            continue;
        }
        match vet(item) {
            Ok(item) => accepted.push(Arc::new(item)),
            Err(error) => refuse(name, error.to_string()),
        }
    }
    if excess > 0 {
        let why = format!("a plugin may have {most} (limit `{limit}`)");
        refuse(format!("{excess} more {}s", T::KIND.as_str()), why);
    }
    accepted
}

fn keep_own<T: Item>(items: &mut Vec<Arc<T>>, owners: &Owners, taken: &mut Vec<Refused>) {
    items.retain(|item| match owners.judge(item.owner(), T::KIND, item.key()) {
        Ok(_) => true,
        Err(other) => {
            taken.push(Refused::taken(&**item, other));
            false
        }
    });
}

fn sorted<T: Item>(mut items: Vec<Arc<T>>) -> Vec<Arc<T>> {
    items.sort_by(|a, b| a.key().cmp(b.key()));
    items
}

fn tool_of(plugin: &Arc<Plugin>, tool: Tool, limits: &Limits) -> Result<PublishedTool, VettingError> {
    let vetted = vetting::tool(&tool, &plugin.config().prefix, limits)?;
    Ok(PublishedTool {
        name: vetted.name,
        plugin: Arc::clone(plugin),
        tool,
        input: vetted.input,
        output: vetted.output,
        headers: vetted.headers,
        extra: vetted.extra,
        print: Print::new(),
    })
}

fn prompt_of(plugin: &Arc<Plugin>, prompt: Prompt, limits: &Limits) -> Result<PublishedPrompt, VettingError> {
    let (name, extra) = vetting::prompt(&prompt, &plugin.config().prefix, limits)?;
    Ok(PublishedPrompt { name, plugin: Arc::clone(plugin), prompt, extra, print: Print::new() })
}
