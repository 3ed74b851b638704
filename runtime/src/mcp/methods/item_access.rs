//! Decides whether the caller may use a visible item, and with these arguments.
//!
//! Hidden items are not in the caller's snapshot, so a handler does not find them. Scopes and arguments are checked
//! here, before the plugin is called, so that the response can still say which scopes are needed. The handler then gets
//! the roles that allow the call, and the quotas against which it counts.

use std::sync::Arc;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::jsonrpc::Request;
use super::super::method::Method;
use super::super::request_context::RequestContext;
use super::super::revision::Revision;
use crate::access::RoleQuota;
use crate::access::policy::{Arguments, Decision, Hints, Item, Policy, RoleSet};
use crate::call_env::Caller;
use crate::catalog::{CallerView, Catalog, PublishedPrompt, PublishedTool, hints};
use crate::config::ItemKind;
use crate::mcp::tasks::CalledTool;
use crate::plugin::{ForbiddenCall, ForbiddenReason, MatchedTemplate, Plugin};

/// Why the caller may not use an item.
#[derive(Debug)]
pub(super) enum AccessError {
    /// The item is hidden from this caller.
    Hidden,
    /// The token lacks scopes.
    Scopes(RpcError),
    /// A condition does not allow these arguments. The text is for the model.
    Arguments(String),
}

impl AccessError {
    /// Returns the error response for methods other than `tools/call`.
    pub(super) fn into_rpc(self, unknown: impl FnOnce() -> RpcError) -> RpcError {
        match self {
            Self::Hidden => unknown(),
            Self::Scopes(error) => error,
            Self::Arguments(why) => RpcError::invalid_params(&why),
        }
    }
}

/// The roles that allow the use of an item.
#[derive(Debug, Default)]
pub(super) struct AllowingRoles {
    /// Their names, for the audit; `None` without `[roles]`.
    pub(super) names: Option<Arc<str>>,
    /// The quotas against which the use may count; empty if one of the roles has no quota.
    pub(super) quotas: Vec<RoleQuota>,
}

/// One use of an item, about which the policy decides.
struct ItemUse<'a> {
    /// The MCP method.
    function: &'static str,
    plugin: &'a Plugin,
    /// The item's name in the audit.
    own_name: &'a str,
    item: Item<'a>,
    /// The arguments as the client wrote them.
    arguments: Option<&'a str>,
}

/// Checks a call of a tool. `arguments` is their text as the client wrote it.
pub(super) fn check_tool(
    view: &CatalogView,
    caller: &Caller,
    tool: &PublishedTool,
    arguments: &str,
) -> Result<AllowingRoles, AccessError> {
    let Some(access) = &view.access else { return Ok(AllowingRoles::default()) };
    let plugin = tool.plugin.name();
    let item = Item {
        plugin,
        kind: ItemKind::Tool,
        name: &tool.name,
        template: None,
        hints: approved_hints(view, tool),
        scopes: access.policy.scopes_of(plugin, Some(&tool.tool.name)),
    };
    let (function, own_name) = ("tools/call", tool.tool.name.as_str());
    let arguments = Some(arguments);
    check(access, caller, &ItemUse { function, plugin: &tool.plugin, own_name, item, arguments })
}

/// Checks whether the caller may still call the tool of its task. The conditions on arguments held when it was called.
/// The tool may not be published any more; then the worst is assumed of its annotations.
pub(super) fn check_called(
    view: &CatalogView,
    caller: &Caller,
    CalledTool { plugin, tool, name }: CalledTool<'_>,
) -> Result<(), AccessError> {
    let Some(access) = &view.access else { return Ok(()) };
    let published = view.snapshot.tool(name).filter(|published| published.plugin.name() == plugin);
    let item = Item {
        plugin,
        kind: ItemKind::Tool,
        name,
        template: None,
        hints: published.map(|published| approved_hints(view, published)).unwrap_or_default(),
        scopes: access.policy.scopes_of(plugin, Some(tool)),
    };
    match access.policy.decide(access.roles, &caller.subject(), &item, None) {
        Decision::Allow(_) => Ok(()),
        Decision::NeedsScopes(scopes) => Err(AccessError::Scopes(RpcError::insufficient_scope(scopes))),
        Decision::Hidden | Decision::ArgumentForbidden(_) => Err(AccessError::Hidden),
    }
}

fn approved_hints(view: &CatalogView, tool: &PublishedTool) -> Hints {
    view.snapshot.entry(tool.plugin.name()).map(|entry| hints(tool, entry)).unwrap_or_default()
}

/// Checks the use of a prompt: getting it with these arguments, or completing one of them.
pub(super) fn check_prompt(
    view: &CatalogView,
    caller: &Caller,
    prompt: &PublishedPrompt,
    (function, arguments): (&'static str, Option<&str>),
) -> Result<AllowingRoles, AccessError> {
    let Some(access) = &view.access else { return Ok(AllowingRoles::default()) };
    let plugin = prompt.plugin.name();
    let scopes = access.policy.scopes_of(plugin, None);
    let (kind, hints) = (ItemKind::Prompt, Hints::default());
    let item = Item { plugin, kind, name: &prompt.name, template: None, hints, scopes };
    let own_name = prompt.prompt.name.as_str();
    check(access, caller, &ItemUse { function, plugin: &prompt.plugin, own_name, item, arguments })
}

/// Checks the use of a URI of `plugin`: reading it, subscribing to it, or completing one of its variables.
pub(super) fn check_uri(
    view: &CatalogView,
    caller: &Caller,
    plugin: &Arc<Plugin>,
    (function, uri): (&'static str, &str),
    template: Option<&MatchedTemplate>,
) -> Result<AllowingRoles, AccessError> {
    let Some(access) = &view.access else { return Ok(AllowingRoles::default()) };
    // A listed URI gets the same decision as in the list, even if a template matches it.
    let is_listed = view.snapshot.resources().get(uri).is_some();
    let template = template.filter(|_| !is_listed).map(|template| template.uri_template.as_str());
    let is_template = view.snapshot.templates().get(uri).is_some();
    let kind = if is_template { ItemKind::Template } else { ItemKind::Resource };
    let (scopes, hints) = (access.policy.scopes_of(plugin.name(), None), Hints::default());
    let item = Item { plugin: plugin.name(), kind, name: uri, template, hints, scopes };
    let own_name = template.unwrap_or(uri);
    check(access, caller, &ItemUse { function, plugin, own_name, item, arguments: None })
}

/// Decides about one use, and records a forbidden use in the audit. For hidden items, `hidden_item_audit` does that
/// after the response.
fn check(
    CallerView { policy, roles }: &CallerView,
    caller: &Caller,
    item_use: &ItemUse<'_>,
) -> Result<AllowingRoles, AccessError> {
    let &ItemUse { function, plugin, own_name, ref item, arguments } = item_use;
    let (subject, bytes_in) = (caller.subject(), arguments.map_or(0, str::len));
    // Arguments are parsed only if a condition exists for the item.
    let arguments = arguments.filter(|_| policy.has_roles() && policy.has_conditions(*roles, item));
    let (error, reason) = match policy.decide(*roles, &subject, item, arguments.map(Arguments::new)) {
        Decision::Allow(roles) => return Ok(allowing_roles(policy, roles)),
        Decision::Hidden => return Err(AccessError::Hidden),
        Decision::NeedsScopes(scopes) => {
            let reason = ForbiddenReason::Scopes { scopes: scopes.join(" ") };
            (AccessError::Scopes(RpcError::insufficient_scope(scopes)), reason)
        }
        Decision::ArgumentForbidden(forbidden) => {
            let (argument, role) = (forbidden.argument.to_owned(), forbidden.role.to_owned());
            let reason = ForbiddenReason::Argument { argument, role, line: forbidden.line };
            (AccessError::Arguments(forbidden.to_string()), reason)
        }
    };
    plugin.record_forbidden(ForbiddenCall { function, name: own_name, caller, reason, bytes_in });
    Err(error)
}

fn allowing_roles(policy: &Policy, roles: RoleSet) -> AllowingRoles {
    if !policy.has_roles() {
        return AllowingRoles::default();
    }
    AllowingRoles { names: Some(policy.joined_names(roles)), quotas: policy.quotas_of(roles) }
}

/// Checks a request that resumes a suspended call, as if it were the first request of the call.
///
/// # Errors
/// When the caller may no longer use the item.
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
            let arguments = ("prompts/get", Some(params.arguments().unwrap_or("{}")));
            let checked = check_prompt(view, caller, prompt, arguments);
            checked.map(drop).map_err(|error| error.into_rpc(unknown))
        }
        Method::ReadResource => {
            let uri = params.uri()?;
            let unknown = || RpcError::resource_not_found(&uri, revision);
            let (plugin, template) = view.snapshot.route_uri(&uri).ok_or_else(unknown)?;
            let checked = check_uri(view, caller, plugin, ("resources/read", &*uri), template.as_ref());
            checked.map(drop).map_err(|error| error.into_rpc(unknown))
        }
        _ => Ok(()),
    }
}

/// Checks a call of a session when a response of its client would continue the call. `caller` sent the response; its
/// credentials and roles may differ from those with which the call began.
///
/// # Errors
/// When that caller may not make the call.
pub(super) fn check_response(
    catalog: &Catalog,
    caller: &Caller,
    context: &RequestContext,
) -> Result<(), RpcError> {
    let (snapshot, access) = catalog.current_for(&caller.subject());
    let view = CatalogView { snapshot, is_complete: true, access };
    check_request(&view, caller, context.revision, &context.request)
}

#[cfg(test)]
mod tests;
