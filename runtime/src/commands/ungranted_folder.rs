//! The plugins of the folder, loaded once as `serve` loads them, but without grants.
//!
//! `check` and `access` look at the same plugins in the same way: listing runs the guest, and no audit would record how
//! the guest uses its grants. So a plugin that cannot list without them is neither loaded nor at fault.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;

use super::cached_compiler::compiler;
use super::{CommandError, call};
use crate::access::policy::{Hints, Item, Policy, UnlistedPlugin};
use crate::catalog::{Item as _, PublishedTool, Snapshot, hints};
use crate::config::{self, Config, Grants, ItemKind};
use crate::observe::Audit;
use crate::plugin::Loader;
use crate::sandbox::KvDatabase;
use crate::watch::{LoadPolicy, LoadedFolder, RejectedFile, load_folder};

/// The plugins of a folder.
pub(super) struct UngrantedFolder {
    /// Everything that can be served.
    pub(super) snapshot: Snapshot,
    /// Files that cannot be served.
    pub(super) rejected: Vec<RejectedFile>,
    /// Files that could not be listed here and have grants, which they get only from a server.
    pub(super) unlisted: Vec<RejectedFile>,
}

impl UngrantedFolder {
    /// Loads the configured folder.
    pub(super) async fn load(config: &Config) -> Result<Self, CommandError> {
        let store = KvDatabase::in_memory().context("cannot open a key-value store in memory")?;
        let server = config::ServerConfig { suspended_calls: 0, idle_instances: 0, ..config.server.clone() };
        let loader =
            Loader::new(&server, store, Audit::disabled(), compiler(config)).context("cannot start")?;
        let policy = LoadPolicy::read(Arc::new(config.clone()), Some(config.server.listen));
        let policy = policy.map_err(|error| CommandError::Usage(error.into()))?.ungranted();
        let LoadedFolder { snapshot, rejected } =
            load_folder(Arc::new(loader), policy).await.map_err(|error| CommandError::Usage(error.into()))?;
        let (unlisted, rejected) =
            rejected.into_iter().partition(|file| file.unlisted && is_granted_something(config, &file.path));
        Ok(Self { snapshot, rejected, unlisted })
    }

    /// All published items as the policy sees them, by kind and in the order of lists.
    pub(super) fn items<'f>(&'f self, policy: &'f Policy) -> Vec<Item<'f>> {
        let tools = self.snapshot.tools().items().iter().map(|tool| self.tool(tool, policy));
        let item = |plugin: &'f str, kind: ItemKind, name: &'f str| Item {
            plugin,
            kind,
            name,
            template: None,
            hints: Hints::default(),
            scopes: policy.scopes_of(plugin, None),
        };
        let prompts = self.snapshot.prompts().items().iter();
        let prompts = prompts.map(|prompt| item(prompt.owner(), ItemKind::Prompt, prompt.key()));
        let resources = self.snapshot.resources().items().iter();
        let resources = resources.map(|resource| item(resource.owner(), ItemKind::Resource, resource.key()));
        let templates = self.snapshot.templates().items().iter();
        let templates = templates.map(|template| item(template.owner(), ItemKind::Template, template.key()));
        tools.chain(prompts).chain(resources).chain(templates).collect()
    }

    /// A tool as the policy sees it.
    pub(super) fn tool<'f>(&'f self, tool: &'f PublishedTool, policy: &'f Policy) -> Item<'f> {
        let plugin = tool.owner();
        Item {
            plugin,
            kind: ItemKind::Tool,
            name: tool.key(),
            template: None,
            hints: self.snapshot.entry(plugin).map(|entry| hints(tool, entry)).unwrap_or_default(),
            scopes: policy.scopes_of(plugin, Some(tool.own_name())),
        }
    }

    /// The plugins whose items can be seen here.
    pub(super) fn listed_plugins(&self) -> Vec<&str> {
        let names = self.snapshot.entries().iter().map(|entry| entry.plugin.name());
        names.filter(|name| self.snapshot.owners().withheld(name).is_none()).collect()
    }

    /// The plugins whose items cannot be seen here, each with the reason.
    pub(super) fn unlisted_plugins(&self) -> Vec<(String, String)> {
        let files = self.rejected.iter().chain(&self.unlisted);
        let files = files.map(|file| (call::stem(&file.path), file.why.clone()));
        let names = self.snapshot.entries().iter().map(|entry| entry.plugin.name());
        let withheld = names.filter_map(|name| Some((name, self.snapshot.owners().withheld(name)?)));
        files.chain(withheld.map(|(name, why)| (name.to_owned(), why.to_owned()))).collect()
    }

    /// Those plugins with the beginnings of their published names.
    pub(super) fn prefixes_of_unlisted(&self, config: &Config) -> Vec<UnlistedPlugin> {
        let unlisted = self.unlisted_plugins().into_iter();
        unlisted.map(|(name, _)| UnlistedPlugin { prefix: config.plugin(&name).prefix, name }).collect()
    }

    /// Whether a plugin that was listed here has grants, with which it may list more.
    pub(super) fn has_grants(&self, config: &Config) -> bool {
        self.snapshot.entries().iter().any(|entry| {
            let name = entry.plugin.name();
            is_granted_something(config, &config.folder.join(format!("{name}.wasm")))
        })
    }
}

fn is_granted_something(config: &Config, file: &Path) -> bool {
    let granted = grants(config, &call::stem(file), file);
    granted != granted.of_no_guest()
}

/// What a plugin is granted when it is served.
pub(super) fn grants(config: &Config, name: &str, file: &Path) -> Grants {
    config.plugin_with_sidecar(name, file).map(|plugin| plugin.grants).unwrap_or_default()
}
