//! `plugport access`: shows what a caller sees and may use, and which line of the configuration says so.
//!
//! The policy, the items and the route of a URI are those of a server: nothing is decided here. Plugins are loaded as
//! `check` loads them, so that the command can run beside a server and changes nothing.

mod connect_decision;
mod report;
mod text;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::anyhow;

use super::ungranted_folder::UngrantedFolder;
use super::{CommandError, console, json_option, serve, unknown};
use crate::access::policy::{DescribedCaller, Hints, Item, Policy, RoleSet};
use crate::catalog::{CallerView, Item as _, Snapshot};
use crate::cli;
use crate::config::{ItemKind, nearest};
use connect_decision::ConnectDecision;
use report::{AccessReport, ItemReport};

pub(super) async fn run(args: cli::Access) -> Result<ExitCode, CommandError> {
    let config = args.source.configuration()?;
    let now = SystemTime::now();
    let caller = DescribedCaller::parse(&args.who, config.auth.as_ref(), now);
    let caller = caller.map_err(|error| CommandError::Usage(error.into()))?;
    check_arguments(&args)?;
    let folder = UngrantedFolder::load(&config).await?;
    let policy = serve::policy(&config);
    let roles = policy.roles_of(&caller.subject());
    let connection = ConnectDecision::of(&caller, &config, now);
    let explainer = AccessExplainer { policy, roles, caller, folder, connection };
    let asked = explainer.asked(&args)?;
    let report = AccessReport::new(&explainer, &config, asked);
    if args.json {
        let json =
            serde_json::to_string_pretty(&report).map_err(|error| CommandError::Failed(error.into()))?;
        console::print_json(&json);
    } else {
        console::print(&text::of(&report));
    }
    Ok(if report.allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_arguments(args: &cli::Access) -> Result<(), CommandError> {
    let Some(arguments) = &args.args else { return Ok(()) };
    if args.tool.is_none() && args.prompt.is_none() {
        return Err(CommandError::Usage(anyhow!(
            "--args needs --tool or --prompt, whose arguments they are"
        )));
    }
    json_option::object("--args", arguments, r#"{"path":"/data/a"}"#)?;
    Ok(())
}

/// A caller, and everything that decides what it may use.
struct AccessExplainer {
    policy: Arc<Policy>,
    /// The roles of the caller.
    roles: RoleSet,
    caller: DescribedCaller,
    folder: UngrantedFolder,
    connection: ConnectDecision,
}

impl AccessExplainer {
    /// The report on the one item that was asked for; `None`: on all.
    fn asked(&self, args: &cli::Access) -> Result<Option<ItemReport>, CommandError> {
        let snapshot = &self.folder.snapshot;
        let arguments = args.args.as_deref();
        if let Some(name) = &args.tool {
            let Some(tool) = snapshot.tool(name) else {
                let names = snapshot.tools().items().iter().map(|tool| tool.key()).collect();
                return Err(self.unknown("tool", name, names));
            };
            return Ok(Some(ItemReport::of(self, &self.folder.tool(tool, &self.policy), arguments, true)));
        }
        if let Some(name) = &args.prompt {
            let Some(prompt) = snapshot.prompt(name) else {
                let names = snapshot.prompts().items().iter().map(|prompt| prompt.key()).collect();
                return Err(self.unknown("prompt", name, names));
            };
            let item = self.item(ItemKind::Prompt, prompt.key(), prompt.owner(), None);
            return Ok(Some(ItemReport::of(self, &item, arguments, true)));
        }
        let Some(uri) = &args.resource else { return Ok(None) };
        let Some(route) = self.route(uri) else {
            let names = snapshot.resources().items().iter().map(|resource| resource.key()).collect();
            return Err(self.unknown("resource", uri, names));
        };
        let item = self.item(route.kind, uri, &route.plugin, route.template.as_deref());
        Ok(Some(ItemReport::of(self, &item, None, route.is_visible)))
    }

    /// Every item, in the order of lists.
    fn all(&self) -> Vec<ItemReport> {
        let items = self.folder.items(&self.policy);
        items.iter().map(|item| ItemReport::of(self, item, None, true)).collect()
    }

    fn item<'a>(
        &'a self,
        kind: ItemKind,
        name: &'a str,
        plugin: &'a str,
        template: Option<&'a str>,
    ) -> Item<'a> {
        let scopes = self.policy.scopes_of(plugin, None);
        Item { plugin, kind, name, template, hints: Hints::default(), scopes }
    }

    /// Which plugin serves a URI to this caller, or would, if the caller saw it.
    fn route(&self, uri: &str) -> Option<Route> {
        let snapshot = &self.folder.snapshot;
        let view = CallerView { policy: Arc::clone(&self.policy), roles: self.roles };
        let filtered = self.policy.has_roles().then(|| snapshot.visible_to(view));
        let visible = filtered.as_ref().unwrap_or(snapshot);
        let is_listed = snapshot.resources().get(uri).is_some();
        if let Some(template) = snapshot.templates().get(uri).filter(|_| !is_listed) {
            let (plugin, is_visible) = (template.owner().to_owned(), visible.templates().get(uri).is_some());
            return Some(Route { kind: ItemKind::Template, plugin, template: None, is_visible });
        }
        let route = |snapshot: &Snapshot, is_visible: bool| {
            let (plugin, template) = snapshot.route_uri(uri)?;
            // A listed URI is decided as in the list, also if a template matches it.
            let template = template.filter(|_| !is_listed).map(|template| template.uri_template);
            Some(Route { kind: ItemKind::Resource, plugin: plugin.name().to_owned(), template, is_visible })
        };
        route(visible, true).or_else(|| route(snapshot, false))
    }

    /// The error for an item that the folder does not list.
    fn unknown(&self, kind: &str, name: &str, names: Vec<&str>) -> CommandError {
        let mut none = format!("there is no {kind} `{name}`");
        let unlisted = self.folder.unlisted_plugins();
        if !unlisted.is_empty() {
            let plugins: Vec<&str> = unlisted.iter().map(|(plugin, _)| plugin.as_str()).collect();
            none += &format!("; the items of {} are not known here", plugins.join(", "));
        }
        let near = nearest(name, &names);
        let others = names.iter().copied().filter(|other| Some(*other) != near);
        let listed: Vec<&str> = near.into_iter().chain(others).take(MAX_LISTED).collect();
        let there = if names.len() > listed.len() { "there are, among others" } else { "there are" };
        CommandError::Usage(anyhow!(unknown(&none, there, name, &listed)))
    }
}

/// Most names that an error lists.
const MAX_LISTED: usize = 40;

/// Which plugin serves a URI, and how.
struct Route {
    kind: ItemKind,
    plugin: String,
    /// The template through which the URI is read, if no plugin lists it.
    template: Option<String>,
    /// Whether the caller gets there.
    is_visible: bool,
}
