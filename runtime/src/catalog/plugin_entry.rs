//! One plugin's part of the catalog: its validated items, and the rejected ones with the reason.
//!
//! An invalid item is rejected by itself; the other items of its plugin are published, since clients may rely on them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::item_list::{Item, ItemDigest};
use super::items::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
use super::name_owners::{NameOwners, OwnedByOther};
use super::shipped::{LinkedTool, ShippedItems, ToolLinks};
use super::task_result_tool;
use super::task_support::TaskSupport;
use super::tool_app::{app_uri, is_for_apps};
use super::validation::{self, InvalidItem};
use crate::approval::ApprovalPolicy;
use crate::config::Limits;
use crate::config::fixed_limits::{PATTERNS, PROMPTS, RESOURCE_TEMPLATES};
use crate::observe::metrics::ItemHistograms;
use crate::plugin::{
    Interfaces, ItemKind, Listing, LoadedPlugin, Plugin, Prompt, ResourceDescriptor, ResourceTemplate, Tool,
};

/// An item that is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedItem {
    /// Which kind of item.
    pub kind: ItemKind,
    /// The plugin's own name for it.
    pub name: String,
    /// The name or URI that it would have, where that is known.
    pub key: Option<String>,
    /// Why.
    pub why: String,
    /// The plugin that has its name or URI, if that is why.
    pub owner: Option<String>,
}

impl RejectedItem {
    pub(super) fn new(kind: ItemKind, name: String, why: String) -> Self {
        Self { kind, name, key: None, why, owner: None }
    }

    /// A part of a whole of which another part is rejected.
    pub(super) fn incomplete<T: Item>(item: &T) -> Self {
        let why = "another file of its skill is not published, and a skill is published with all its files";
        let rejected = Self::new(T::KIND, item.own_name().to_owned(), why.to_owned());
        Self { key: Some(item.key().to_owned()), ..rejected }
    }

    /// An item that is rejected because its key belongs to another plugin.
    pub(super) fn owned_by_other<T: Item>(item: &T, OwnedByOther { owner, why }: OwnedByOther) -> Self {
        let rejected = Self::new(T::KIND, item.own_name().to_owned(), why);
        Self { key: Some(item.key().to_owned()), owner, ..rejected }
    }
}

/// What one plugin contributes.
#[derive(Debug, Clone)]
pub struct PluginEntry {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// What it imports and exports.
    pub interfaces: Interfaces,
    /// In order of their names.
    pub tools: Vec<Arc<PublishedTool>>,
    /// The server's tool for results of the plugin's bridged calls, if there are any. It needs no approval.
    pub result_tool: Option<Arc<PublishedTool>>,
    /// Why there is none although the operator wants it.
    pub no_result_tool: Option<String>,
    /// In order of their URIs.
    pub resources: Vec<Arc<PublishedResource>>,
    /// In the plugin's own order.
    pub templates: Vec<Arc<PublishedTemplate>>,
    /// In order of their names.
    pub prompts: Vec<Arc<PublishedPrompt>>,
    /// In the plugin's own order.
    pub rejected: Vec<RejectedItem>,
    /// Sentences about items that are published although they do not match the approval.
    pub unapproved: Vec<String>,
    /// The policy that its items were checked with; the next listing is checked with it too.
    pub approval: ApprovalPolicy,
    shipped: Arc<Shipped>,
}

/// What a plugin ships, validated once for all of its listings.
#[derive(Debug)]
struct Shipped {
    /// In order of their paths.
    files: Vec<Arc<PublishedResource>>,
    rejected: Vec<RejectedItem>,
    links: ToolLinks,
}

impl PluginEntry {
    /// Validates a plugin's whole listing.
    #[must_use]
    pub fn validate(loaded: LoadedPlugin) -> Self {
        let LoadedPlugin { plugin, interfaces, listing } = loaded;
        let shipped = Arc::new(Shipped::of(&plugin));
        Self::of(plugin, interfaces, listing, shipped)
    }

    /// The same plugin with a new listing, validated and not yet compared with its approval.
    #[must_use]
    pub fn with_listing(&self, listing: Listing) -> Self {
        Self::of(Arc::clone(&self.plugin), self.interfaces.clone(), listing, Arc::clone(&self.shipped))
    }

    /// The same without the items that belong to other plugins, and these items.
    #[must_use]
    pub fn without_name_conflicts(mut self, owners: &NameOwners) -> (Self, Vec<RejectedItem>) {
        let mut conflicts = Vec::new();
        retain_own(&mut self.tools, owners, &mut conflicts);
        retain_own(&mut self.resources, owners, &mut conflicts);
        retain_own(&mut self.templates, owners, &mut conflicts);
        retain_own(&mut self.prompts, owners, &mut conflicts);
        (self, conflicts)
    }

    /// Its tools, and the server's tool for their results.
    pub fn all_tools(&self) -> impl Iterator<Item = &Arc<PublishedTool>> {
        self.tools.iter().chain(&self.result_tool)
    }

    /// Whether it has no item at all, not even one that cannot be published.
    #[must_use]
    pub fn lists_nothing(&self) -> bool {
        let Self { tools, resources, templates, prompts, rejected, .. } = self;
        tools.is_empty()
            && resources.is_empty()
            && templates.is_empty()
            && prompts.is_empty()
            && rejected.is_empty()
    }

    fn of(plugin: Arc<Plugin>, interfaces: Interfaces, listing: Listing, shipped: Arc<Shipped>) -> Self {
        let limits = &plugin.config().limits;
        let mut rejected = Vec::new();
        let mut patterns_left = PATTERNS;
        let limit = (limits.tools, "tools (limit `tools`)");
        let mut mistaken = shipped.mistaken_files(&listing.tools);
        let tools = accept(listing.tools, limit, &mut rejected, |tool| {
            let (published, is_missing) = tool_of(&plugin, tool, &shipped.links, (limits, patterns_left))?;
            mistaken.extend(is_missing.then(|| no_such_app(&published)));
            patterns_left = patterns_left.saturating_sub(published.patterns());
            Ok(published)
        });
        rejected.extend(mistaken);
        rejected.extend(shipped.rejected.iter().cloned());
        let (result_tool, no_result_tool) = match result_tool_of(&plugin, &tools) {
            Ok(tool) => (tool, None),
            Err(why) => (None, Some(why)),
        };
        let uris: HashSet<&str> = shipped.files.iter().map(|file| file.key()).collect();
        let limit = (limits.resources, "resources (limit `resources`)");
        let mut resources = accept(listing.resources, limit, &mut rejected, |resource| {
            if uris.contains(resource.uri.as_str()) {
                return Err(InvalidItem::Shipped);
            }
            PublishedResource::validate(&plugin, resource)
        });
        drop(uris);
        resources.extend(shipped.files.iter().cloned());
        let limit = (RESOURCE_TEMPLATES, "resource templates");
        let templates = accept(listing.templates, limit, &mut rejected, |template| {
            PublishedTemplate::validate(&plugin, template)
        });
        let prompts =
            accept(listing.prompts, (PROMPTS, "prompts"), &mut rejected, |prompt| prompt_of(&plugin, prompt));
        let (tools, resources, prompts) = (sorted(tools), sorted(resources), sorted(prompts));
        let (unapproved, approval) = (Vec::new(), ApprovalPolicy::off());
        Self {
            tools,
            result_tool,
            no_result_tool,
            resources,
            templates,
            prompts,
            plugin,
            interfaces,
            rejected,
            unapproved,
            approval,
            shipped,
        }
    }
}

/// An item of a listing, not validated yet.
trait ListedItem {
    fn own_name(&self) -> &str;
}

impl ListedItem for Tool {
    fn own_name(&self) -> &str {
        &self.name
    }
}

impl ListedItem for ResourceDescriptor {
    fn own_name(&self) -> &str {
        &self.uri
    }
}

impl ListedItem for ResourceTemplate {
    fn own_name(&self) -> &str {
        &self.uri_template
    }
}

impl ListedItem for Prompt {
    fn own_name(&self) -> &str {
        &self.name
    }
}

/// Validates the items of one kind: at most `max`, and each name once.
fn accept<R: ListedItem, T: Item>(
    listed: Vec<R>,
    (max, of_what): (u64, &str),
    rejected: &mut Vec<RejectedItem>,
    mut validate: impl FnMut(R) -> Result<T, InvalidItem>,
) -> Vec<Arc<T>> {
    let mut reject = |name: String, why: String| rejected.push(RejectedItem::new(T::KIND, name, why));
    let count = usize::try_from(max).unwrap_or(usize::MAX);
    let excess = listed.len().saturating_sub(count);
    let mut seen = HashSet::new();
    let mut accepted = Vec::new();
    for item in listed.into_iter().take(count) {
        let name = item.own_name().to_owned();
        if !seen.insert(name.clone()) {
            reject(name, format!("the plugin already has a {} of this name", T::KIND.as_str()));
            continue;
        }
        match validate(item) {
            Ok(item) => accepted.push(Arc::new(item)),
            Err(error) => reject(name, error.to_string()),
        }
    }
    if excess > 0 {
        let why = format!("a plugin may have {max} {of_what}");
        reject(format!("{excess} more {}s", T::KIND.as_str()), why);
    }
    accepted
}

fn retain_own<T: Item>(items: &mut Vec<Arc<T>>, owners: &NameOwners, conflicts: &mut Vec<RejectedItem>) {
    retain(items, conflicts, |item| match owners.check(item.owner(), T::KIND, item.key()) {
        Ok(_) => None,
        Err(other) => Some(RejectedItem::owned_by_other(item, other)),
    });
}

/// Removes the items of one plugin that are rejected, with all that belongs to the same whole.
pub(super) fn retain<T: Item>(
    items: &mut Vec<Arc<T>>,
    rejected: &mut Vec<RejectedItem>,
    mut reject: impl FnMut(&T) -> Option<RejectedItem>,
) {
    let mut incomplete = HashSet::new();
    items.retain(|item| match reject(item) {
        None => true,
        Some(reason) => {
            incomplete.extend(item.whole().map(str::to_owned));
            rejected.push(reason);
            false
        }
    });
    items.retain(|item| {
        let is_whole = item.whole().is_none_or(|whole| !incomplete.contains(whole));
        rejected.extend((!is_whole).then(|| RejectedItem::incomplete(&**item)));
        is_whole
    });
}

fn sorted<T: Item>(mut items: Vec<Arc<T>>) -> Vec<Arc<T>> {
    items.sort_by(|a, b| a.key().cmp(b.key()));
    items
}

impl Shipped {
    /// Reads the files of a plugin. The URIs of a plugin without a prefix have its name.
    fn of(plugin: &Arc<Plugin>) -> Self {
        let config = plugin.config();
        let host = if config.prefix.is_empty() { plugin.name() } else { &config.prefix };
        let items = ShippedItems::of(plugin.shipped_files(), host, &config.grants.ui);
        let reject = |(path, why)| RejectedItem::new(ItemKind::Resource, path, why);
        let mut rejected: Vec<_> = items.rejected.into_iter().map(reject).collect();
        let mut files = Vec::new();
        for (resource, file) in items.resources {
            let path = file.file.path.to_string();
            match PublishedResource::validate(plugin, resource) {
                Ok(resource) => files.push(Arc::new(PublishedResource { file: Some(file), ..resource })),
                Err(error) => rejected.push(reject((path, error.to_string()))),
            }
        }
        Self { files, rejected, links: items.links }
    }

    /// The files about apps that name tools which the plugin does not list.
    fn mistaken_files(&self, listed: &[Tool]) -> Vec<RejectedItem> {
        let names: BTreeSet<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        let mistakes = self.links.mistakes(&names).into_iter();
        mistakes.map(|(path, why)| RejectedItem::new(ItemKind::Resource, path, why)).collect()
    }
}

/// The tool for results of bridged calls, if the operator wants it and a tool of the plugin can be bridged.
///
/// # Errors
/// Why there is none, in words.
fn result_tool_of(
    plugin: &Arc<Plugin>,
    tools: &[Arc<PublishedTool>],
) -> Result<Option<Arc<PublishedTool>>, String> {
    if !plugin.config().task_bridge || !tools.iter().any(|tool| tool.can_be_bridged()) {
        return Ok(None);
    }
    if tools.iter().any(|tool| *tool.own_name == *task_result_tool::NAME) {
        return Err(format!("the plugin has a tool `{}` itself", task_result_tool::NAME));
    }
    // The files and the limits of the plugin are about its own tools.
    let (links, limits) = (ToolLinks::default(), Limits::default());
    let (tool, _) = tool_of(plugin, task_result_tool::descriptor(), &links, (&limits, PATTERNS))
        .map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(PublishedTool { is_result_tool: true, ..tool })))
}

fn no_such_app(tool: &PublishedTool) -> RejectedItem {
    let path = tool.app.as_deref().unwrap_or_default();
    let why = format!(
        "the tool `{}` shows its results in it, and the component has no file ui/{path}",
        tool.tool.name
    );
    RejectedItem::new(ItemKind::Resource, format!("ui:{path}"), why)
}

/// The tool, and whether it names an app that its plugin does not ship.
fn tool_of(
    plugin: &Arc<Plugin>,
    tool: Tool,
    links: &ToolLinks,
    (limits, patterns_left): (&Limits, u64),
) -> Result<(PublishedTool, bool), InvalidItem> {
    let validated = validation::tool(&tool, &plugin.config().prefix, limits, patterns_left)?;
    let task_support = TaskSupport::of(&validated.extra);
    let LinkedTool { extra, app, is_missing } = links.link(&tool.name, validated.extra);
    let published = PublishedTool {
        name: validated.name,
        plugin: Arc::clone(plugin),
        own_name: tool.name.as_str().into(),
        tool,
        input: Arc::new(validated.input),
        output: validated.output.map(Arc::new),
        headers: validated.headers,
        task_support,
        is_result_tool: false,
        app_uri: app_uri(&extra),
        is_for_apps: is_for_apps(&extra),
        extra,
        app,
        histograms: ItemHistograms::default(),
        digest: ItemDigest::new(),
    };
    Ok((published, is_missing))
}

fn prompt_of(plugin: &Arc<Plugin>, prompt: Prompt) -> Result<PublishedPrompt, InvalidItem> {
    let (name, extra) = validation::prompt(&prompt, &plugin.config().prefix)?;
    let (plugin, histograms, digest) = (Arc::clone(plugin), ItemHistograms::default(), ItemDigest::new());
    Ok(PublishedPrompt { name, plugin, prompt, extra, histograms, digest })
}
