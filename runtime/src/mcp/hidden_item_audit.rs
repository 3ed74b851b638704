//! Writes an audit line when a request names an item that is hidden from its caller.
//!
//! `dispatch` passes every failed request for an item and every accepted `subscriptions/listen` to this module. A task
//! looks up whether the item is published and hidden. The response does not wait for this task, so the response time
//! reveals nothing about hidden items. `audit_lookups` bounds the tasks. Items that no plugin publishes get no line,
//! because callers can make up any number of names.

use std::sync::Arc;

use super::await_initial_load::WaitSubject;
use super::jsonrpc::Request;
use super::method::Method;
use super::methods::hidden_items::HiddenItems;
use super::methods::subscriptions::SubscriptionStream;
use super::server::Server;
use crate::call_env::Caller;
use crate::plugin::{ForbiddenCall, ForbiddenReason, Plugin};

/// The name of a method that uses one item, as the audit has it.
fn function_of(method: &Method) -> Option<&'static str> {
    Some(match method {
        Method::CallTool => "tools/call",
        Method::ReadResource => "resources/read",
        Method::GetPrompt => "prompts/get",
        Method::Complete => "completion/complete",
        Method::Subscribe => "resources/subscribe",
        Method::GetSkill => "skills/get",
        _ => return None,
    })
}

/// Records a failed request of `caller` in the audit if its item is hidden. `failed` is the request, or its owner.
pub(super) fn record_if_hidden<R>(server: &Arc<Server>, caller: &Caller, failed: &Arc<R>)
where
    R: AsRef<Request> + Send + Sync + 'static,
{
    let Some(function) = function_of(&R::as_ref(failed).method) else { return };
    if !server.catalog.has_roles() {
        return;
    }
    let Some(permit) = server.lookups.begin_request() else { return };
    let (owner, caller, failed) = (Arc::clone(server), caller.clone(), Arc::clone(failed));
    server.tasks.spawn(async move {
        let _permit = permit;
        let request = R::as_ref(&failed);
        let work = || record(&owner, &caller, function, request);
        owner.lookups.request_work.in_place(request.params.len(), work).await;
    });
}

/// Records the hidden URIs of a subscription in the audit. The request does not fail because of them: a client may name
/// any URI, and is never notified about a hidden one.
pub(super) fn record_hidden_subscriptions(
    server: &Arc<Server>,
    caller: &Caller,
    subscription: &SubscriptionStream,
) {
    if !server.catalog.has_roles() {
        return;
    }
    let Some(permit) = server.lookups.begin_subscription() else { return };
    let (owner, caller, mut uris) = (Arc::clone(server), caller.clone(), subscription.uris());
    uris.sort_unstable();
    server.tasks.spawn(async move {
        let _permit = permit;
        let Some(hidden) = HiddenItems::of(&owner, &caller) else { return };
        let work = || {
            for (plugin, name) in uris.iter().filter_map(|uri| hidden.uri(uri)) {
                forbid(plugin, ("subscriptions/listen", name.as_str()), &caller, 0);
            }
        };
        owner.lookups.subscription_work.in_place(hidden.work(uris.len()), work).await;
    });
}

fn forbid(plugin: &Plugin, (function, name): (&'static str, &str), caller: &Caller, bytes_in: usize) {
    let reason = ForbiddenReason::Hidden;
    plugin.record_forbidden(ForbiddenCall { function, name, caller, reason, bytes_in });
}

fn record(server: &Server, caller: &Caller, function: &'static str, request: &Request) {
    let Some(hidden) = HiddenItems::of(server, caller) else { return };
    let bytes_in = request.params.arguments().map_or(0, str::len);
    let forbid = |plugin: &Plugin, name: &str| forbid(plugin, (function, name), caller, bytes_in);
    match WaitSubject::from_request(request) {
        WaitSubject::Tool(name) => {
            if let Some(tool) = hidden.tool(&name) {
                forbid(&tool.plugin, &tool.tool.name);
            }
        }
        WaitSubject::Prompt(name) => {
            if let Some(prompt) = hidden.prompt(&name) {
                forbid(&prompt.plugin, &prompt.prompt.name);
            }
        }
        WaitSubject::Resource(uri) | WaitSubject::Reference(uri) => {
            if let Some((plugin, name)) = hidden.uri(&uri) {
                forbid(plugin, &name);
            }
        }
        WaitSubject::AllItems | WaitSubject::Nothing => {}
    }
}
