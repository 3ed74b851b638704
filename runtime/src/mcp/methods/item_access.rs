//! Whether the caller may use an item that it sees, and with these arguments.
//!
//! What a caller does not see is not in its snapshot, so a handler finds nothing there. Scopes and arguments are checked
//! here, before the plugin is called: a response can still say which scopes are needed. Whoever then calls the plugin
//! gets the quotas by which the call is counted, none for most.

use std::sync::Arc;

use super::super::error::RpcError;
use super::super::jsonrpc::Request;
use super::super::method::Method;
use super::super::revision::Revision;
use super::super::server::CatalogView;
use crate::access::RoleQuota;
use crate::access::policy::{Arguments, Decision, Hints, Item};
use crate::call_env::Caller;
use crate::catalog::{PublishedPrompt, PublishedTool, hints};
use crate::config::ItemKind;
use crate::plugin::{MatchedTemplate, Plugin};

/// Why the caller may not use an item.
#[derive(Debug)]
pub(super) enum AccessError {
    /// For this caller the item does not exist.
    Hidden,
    /// The token lacks scopes.
    Scopes(RpcError),
    /// The operator does not allow these arguments; in words, for the model.
    Arguments(String),
}

impl AccessError {
    /// The error response, where arguments are no matter of a tool.
    pub(super) fn into_rpc(self, unknown: impl FnOnce() -> RpcError) -> RpcError {
        match self {
            Self::Hidden => unknown(),
            Self::Scopes(error) => error,
            Self::Arguments(why) => RpcError::invalid_params(&why),
        }
    }
}

/// Checks a call of a tool. `arguments`: their text, as the client wrote it.
pub(super) fn check_tool(
    view: &CatalogView,
    caller: &Caller,
    tool: &PublishedTool,
    arguments: &str,
) -> Result<Vec<RoleQuota>, AccessError> {
    let Some(access) = &view.access else { return Ok(Vec::new()) };
    let plugin = tool.plugin.name();
    let item = Item {
        plugin,
        kind: ItemKind::Tool,
        name: &tool.name,
        template: None,
        hints: view.snapshot.entry(plugin).map(|entry| hints(tool, entry)).unwrap_or_default(),
        scopes: access.policy.scopes_of(plugin, Some(&tool.tool.name)),
    };
    check(view, caller, &item, Some(arguments))
}

/// Checks the use of a prompt: filling it in, with the text of its arguments, or completing one of them.
pub(super) fn check_prompt(
    view: &CatalogView,
    caller: &Caller,
    prompt: &PublishedPrompt,
    arguments: Option<&str>,
) -> Result<Vec<RoleQuota>, AccessError> {
    let Some(access) = &view.access else { return Ok(Vec::new()) };
    let plugin = prompt.plugin.name();
    let scopes = access.policy.scopes_of(plugin, None);
    let (kind, hints) = (ItemKind::Prompt, Hints::default());
    check(view, caller, &Item { plugin, kind, name: &prompt.name, template: None, hints, scopes }, arguments)
}

/// Checks the use of a URI, which `plugin` serves: reading it, subscribing to it, or completing one of its variables.
pub(super) fn check_uri(
    view: &CatalogView,
    caller: &Caller,
    plugin: &Arc<Plugin>,
    uri: &str,
    template: Option<&MatchedTemplate>,
) -> Result<Vec<RoleQuota>, AccessError> {
    let Some(access) = &view.access else { return Ok(Vec::new()) };
    let plugin = plugin.name();
    // A listed URI is decided as in the list, also if a template matches it.
    let is_listed = view.snapshot.resources().get(uri).is_some();
    let template = template.filter(|_| !is_listed).map(|template| template.uri_template.as_str());
    let is_template = view.snapshot.templates().get(uri).is_some();
    let kind = if is_template { ItemKind::Template } else { ItemKind::Resource };
    let (scopes, hints) = (access.policy.scopes_of(plugin, None), Hints::default());
    check(view, caller, &Item { plugin, kind, name: uri, template, hints, scopes }, None)
}

fn check(
    view: &CatalogView,
    caller: &Caller,
    item: &Item<'_>,
    arguments: Option<&str>,
) -> Result<Vec<RoleQuota>, AccessError> {
    let Some(access) = &view.access else { return Ok(Vec::new()) };
    let (policy, roles, subject) = (&access.policy, access.roles, caller.subject());
    // Arguments are read only where a rule is about them.
    let arguments = arguments.filter(|_| policy.has_roles() && policy.has_conditions(roles, item));
    match policy.decide(roles, &subject, item, arguments.map(Arguments::new)) {
        Decision::Allow(allowing) => Ok(policy.quotas_of(allowing)),
        Decision::Hidden => Err(AccessError::Hidden),
        Decision::NeedsScopes(scopes) => Err(AccessError::Scopes(RpcError::insufficient_scope(scopes))),
        Decision::ArgumentDenied(denied) => Err(AccessError::Arguments(denied.to_string())),
    }
}

/// Checks a request that resumes a suspended call, as if it were the first.
///
/// # Errors
/// When the caller may not use the item any more.
pub(in super::super) fn check_request(
    view: &CatalogView,
    caller: &Caller,
    revision: Revision,
    request: &Request,
) -> Result<(), RpcError> {
    if view.access.is_none() {
        return Ok(());
    }
    let params = &request.params;
    match &request.method {
        Method::CallTool => {
            let name = params.name()?;
            let unknown = || RpcError::unknown_tool(&name);
            let tool = view.snapshot.tool(&name).ok_or_else(unknown)?;
            let checked = check_tool(view, caller, tool, params.arguments().unwrap_or("{}"));
            checked.map(drop).map_err(|error| error.into_rpc(unknown))
        }
        Method::GetPrompt => {
            let name = params.name()?;
            let unknown = || RpcError::unknown_prompt(&name);
            let prompt = view.snapshot.prompt(&name).ok_or_else(unknown)?;
            let checked = check_prompt(view, caller, prompt, Some(params.arguments().unwrap_or("{}")));
            checked.map(drop).map_err(|error| error.into_rpc(unknown))
        }
        Method::ReadResource => {
            let uri = params.uri()?;
            let unknown = || RpcError::resource_not_found(&uri, revision);
            let (plugin, template) = view.snapshot.route_uri(&uri).ok_or_else(unknown)?;
            let checked = check_uri(view, caller, plugin, &uri, template.as_ref());
            checked.map(drop).map_err(|error| error.into_rpc(unknown))
        }
        _ => Ok(()),
    }
}
