//! Requests that wait for the initial load: lists, and those that name something which is not there yet.
//!
//! A first start compiles, which takes seconds, and a client that was shown an empty list may never ask again. So lists
//! wait until all that lay in the folder at the start has been looked into; `initialize`, pings and calls of what is
//! published already do not. A URI that names nobody is not answered for before: a plugin that is still compiled may
//! have the better right to it, and who is ready first has none. Clients give up on an answer after a minute or so, and
//! therefore the wait has an end after which they get what there is; those that want to hear of a list's progress do
//! meanwhile. A request that waits is a task and nothing else, and ends like any other.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::error::RpcError;
use super::jsonrpc::Request;
use super::method::Method;
use super::request_client::tell_progress;
use super::request_context::RequestContext;
use super::server::{CatalogView, Server};
use crate::catalog::{LoadProgress, Snapshot};

/// How often a client hears how far the start is.
const TELL: Duration = Duration::from_secs(1);

/// Waits until what the request is about is there, as far as it will be, and then reads the catalog for the request.
/// `None` when the client has withdrawn the request.
///
/// # Errors
/// When the check of arguments fails that the transport deferred until the tool is known.
pub(super) async fn wait(server: &Server, context: &RequestContext) -> Option<Result<CatalogView, RpcError>> {
    let request = &*context.request;
    let bytes = request.params.len();
    let about = server.reading().in_place(bytes, || WaitSubject::from_request(request)).await;
    let is_there = || server.catalog.is_complete() || about.is_there(&server.catalog.current());
    let published = || server.reading().in_place(bytes, || deferred_check(server.catalog_view(), context));
    if is_there() {
        return Some(published().await);
    }
    if Instant::now() >= server.startup_deadline() {
        server.catalog.release_lists();
        return Some(published().await);
    }
    let (mut start, mut lists) = (server.catalog.load_progress(), server.catalog.lists_changed());
    let began = Instant::now();
    let mut tell = interval_at(began + TELL, TELL);
    tell.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while !is_there() {
        tokio::select! {
            () = context.cancel.cancelled() => return None,
            () = server.ending.cancelled() => break,
            () = sleep_until(server.startup_deadline()) => {
                server.catalog.release_lists();
                break;
            }
            // Both live as long as the catalog.
            _ = start.changed() => {}
            _ = lists.changed() => {}
            // Of a call only its guest tells, since progress may never go back.
            _ = tell.tick(), if about == WaitSubject::Everything => {
                let LoadProgress { remaining: left, total: of, compiling } = start.borrow().unwrap_or_default();
                let message = match compiling {
                    true => format!("{left} of {of} plugins are still being compiled, which happens once"),
                    false => "the plugins are being loaded".to_owned(),
                };
                tell_progress(context, began.elapsed().as_secs_f64().floor(), None, Some(&message));
            }
        }
    }
    Some(published().await)
}

/// Checks the arguments for a tool that was not published when the request came.
fn deferred_check(view: CatalogView, context: &RequestContext) -> Result<CatalogView, RpcError> {
    if let Some(check) = &context.leg().request_meta.deferred_check
        && let WaitSubject::Tool(name) = WaitSubject::from_request(&context.request)
        && let Some(tool) = view.snapshot.tool(&name)
    {
        check.check(tool, &context.request)?;
    }
    Ok(view)
}

/// What a request needs to be there.
#[derive(Debug, PartialEq, Eq)]
enum WaitSubject<'r> {
    Everything,
    Tool(Cow<'r, str>),
    Prompt(Cow<'r, str>),
    Resource(Cow<'r, str>),
    /// A resource or a template, by its URI.
    Reference(Cow<'r, str>),
    /// It can be served, or rejected, without.
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
    /// What is malformed is rejected by the handler.
    fn from_request(request: &'r Request) -> Self {
        let params = &request.params;
        let about = match request.method {
            Method::ListTools
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::ListPrompts => Some(Self::Everything),
            Method::CallTool => params.name().ok().map(Self::Tool),
            Method::GetPrompt => params.name().ok().map(Self::Prompt),
            // What is not there yet cannot be subscribed to either.
            Method::ReadResource | Method::Subscribe => params.uri().ok().map(Self::Resource),
            Method::Complete => {
                let params: CompletionRefParams<'_> = serde_json::from_str(params.text()).unwrap_or_default();
                let Reference { name, uri } = params.reference;
                name.map(Self::Prompt).or_else(|| uri.map(Self::Reference))
            }
            _ => None,
        };
        about.unwrap_or(Self::Nothing)
    }

    fn is_there(&self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Everything => false,
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
            !WaitSubject::from_request(&request).is_there(&nothing)
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
