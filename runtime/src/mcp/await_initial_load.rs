//! Requests that wait for the initial load: lists, and requests for an item that is not published yet.
//!
//! A first start compiles plugins, which takes seconds, and a client that got an empty list may never request it again.
//! So lists wait until all files that were in the folder at the start have been loaded or rejected. `initialize`,
//! `ping` and calls of published items do not wait. A request for a URI waits until the URI's owner is certain: a
//! plugin that is still being compiled may have precedence, whichever plugin is ready first. Clients give up on a
//! response after about a minute, so the wait has a deadline, after which a request gets what is published. Meanwhile a
//! list request with a progress token gets progress notifications. A waiting request is only a task and can be
//! cancelled.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::call_client::send_progress;
use super::catalog_view::CatalogView;
use super::error::RpcError;
use super::jsonrpc::Request;
use super::method::Method;
use super::request_context::RequestContext;
use super::server::Server;
use crate::catalog::{LoadProgress, Snapshot};

/// How often a client is notified of the progress of the initial load.
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);

/// Waits until the item of the request is published, the initial load has ended, or the deadline has passed. Then
/// returns the request's view of the catalog; `None` when the client has cancelled the request.
///
/// # Errors
/// When the arguments fail the check that the transport deferred until the tool is published.
pub(super) async fn wait(server: &Server, context: &RequestContext) -> Option<Result<CatalogView, RpcError>> {
    let request = &context.request;
    let bytes = request.params.len();
    let subject = server.reading().in_place(bytes, || WaitSubject::from_request(request)).await;
    let view = || server.catalog_view(&context.caller);
    // A list waits for the end of the load, so it needs no view after each change.
    let is_published = || subject != WaitSubject::AllItems && subject.is_published(&view().snapshot);
    let is_ready = || server.catalog.is_complete() || is_published();
    let checked_view = || server.reading().in_place(bytes, || deferred_check(view(), context));
    if is_ready() {
        return Some(checked_view().await);
    }
    if Instant::now() >= server.startup_deadline() {
        server.catalog.release_lists();
        return Some(checked_view().await);
    }
    let (mut load, mut lists) = (server.catalog.load_progress(), server.catalog.lists_changed());
    let began = Instant::now();
    let mut progress = interval_at(began + PROGRESS_PERIOD, PROGRESS_PERIOD);
    progress.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while !is_ready() {
        tokio::select! {
            () = context.cancel.cancelled() => return None,
            () = server.ending.cancelled() => break,
            () = sleep_until(server.startup_deadline()) => {
                server.catalog.release_lists();
                break;
            }
            // The senders of `load` and `changes` live as long as the catalog.
            _ = load.changed() => {}
            _ = lists.changed() => {}
            // Only the guest reports the progress of a call, because progress must never decrease.
            _ = progress.tick(), if subject == WaitSubject::AllItems => {
                let LoadProgress { remaining, total, compiling } = load.borrow().unwrap_or_default();
                let message = match compiling {
                    true => format!("{remaining} of {total} plugins are still being compiled, which happens once"),
                    false => "the plugins are being loaded".to_owned(),
                };
                send_progress(context, began.elapsed().as_secs_f64().floor(), None, Some(&message));
            }
        }
    }
    Some(checked_view().await)
}

/// Runs the transport's deferred check of the arguments, if the tool was not published when the request arrived.
fn deferred_check(view: CatalogView, context: &RequestContext) -> Result<CatalogView, RpcError> {
    if let Some(check) = &context.leg().request_meta.deferred_check
        && let WaitSubject::Tool(name) = WaitSubject::from_request(&context.request)
        && let Some(tool) = view.snapshot.tool(&name)
    {
        check.check(tool, &context.request)?;
    }
    Ok(view)
}

/// What must be published before a request is served.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WaitSubject<'r> {
    AllItems,
    Tool(Cow<'r, str>),
    Prompt(Cow<'r, str>),
    Resource(Cow<'r, str>),
    /// A resource or a template, named by its URI.
    Reference(Cow<'r, str>),
    /// Nothing: the request can be served or rejected at once.
    Nothing,
}

#[derive(Deserialize, Default)]
struct Reference<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
struct CompletionRefParams<'a> {
    #[serde(borrow, rename = "ref", default)]
    reference: Reference<'a>,
}

impl<'r> WaitSubject<'r> {
    /// Malformed parameters give `Nothing`, because the handler rejects them.
    pub(super) fn from_request(request: &'r Request) -> Self {
        let params = &request.params;
        let subject = match request.method {
            Method::ListTools
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::ListPrompts
            | Method::ListSkills => Some(Self::AllItems),
            Method::CallTool => params.name().ok().map(Self::Tool),
            Method::GetPrompt => params.name().ok().map(Self::Prompt),
            // A subscription needs a published resource.
            Method::ReadResource | Method::Subscribe | Method::GetSkill | Method::ReadDirectory => {
                params.uri().ok().map(Self::Resource)
            }
            Method::Complete => {
                let params: CompletionRefParams<'_> = serde_json::from_str(params.text()).unwrap_or_default();
                let Reference { name, uri } = params.reference;
                name.map(Self::Prompt).or_else(|| uri.map(Self::Reference))
            }
            _ => None,
        };
        subject.unwrap_or(Self::Nothing)
    }

    /// Whether `snapshot` has the item; for a URI, also whether no plugin of a later snapshot could own the URI
    /// instead.
    fn is_published(&self, snapshot: &Snapshot) -> bool {
        match self {
            Self::AllItems => false,
            Self::Tool(name) => snapshot.tool(name).is_some(),
            Self::Prompt(name) => snapshot.prompt(name).is_some(),
            Self::Resource(uri) | Self::Reference(uri) => snapshot.has_sole_owner(uri),
            Self::Nothing => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::request_id::RequestId;

    #[test]
    fn a_request_waits_for_what_it_is_about() {
        let nothing = Snapshot::new(Vec::new());
        let waits = |method: &str, params: &str| {
            let (id, method) = (RequestId::Number(1), Method::parse(method));
            let request = Request { id, method, params: params.into(), reservation: None };
            !WaitSubject::from_request(&request).is_published(&nothing)
        };
        for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            assert!(waits(list, "{}"), "{list}");
        }
        assert!(waits("tools/call", r#"{"name":"a-b"}"#) && waits("prompts/get", r#"{"name":"\u0061"}"#));
        assert!(
            waits("resources/read", r#"{"uri":"n:a"}"#) && waits("resources/subscribe", r#"{"uri":"n:a"}"#)
        );
        assert!(waits("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"a"}}"#));
        assert!(waits("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"a"}}"#));
        for (method, params) in [
            ("ping", "{}"),
            ("server/discover", "{}"),
            ("logging/setLevel", "{}"),
            ("tools/call", "{}"),
            ("tools/call", "[]"),
            ("resources/read", r#"{"uri":1}"#),
        ] {
            assert!(!waits(method, params), "{method} {params}");
        }
    }
}
