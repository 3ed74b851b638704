//! From a request to its handler.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::context::{RequestContext, Threshold};
use super::era::{Carried, Claims};
use super::error::RpcError;
use super::exchange::Exchange;
use super::handlers::{completion, discover, lifecycle, lists, logging, prompts, resources, tools};
use super::in_flight::{InFlight, Place};
use super::message::Request;
use super::method::Method;
use super::outbox::Outbox;
use super::reply::Reply;
use super::server::Server;
use super::session::Session;
use crate::host::ClientInfo;

/// Serves a request that stands on its own. On stdio, where a notification can cancel it, it is entered in `in_flight`.
pub(super) fn stateless(
    server: &Arc<Server>,
    request: Request,
    (claims, carried): (Claims, Carried),
    in_flight: Option<&Arc<InFlight>>,
) -> Result<Exchange, RpcError> {
    let place = in_flight.map(|in_flight| in_flight.enter(&request.id)).transpose()?;
    let Claims { revision, client, log_level } = claims;
    let threshold = Threshold::Request(log_level);
    Ok(begin(server, request, place, |outbox, cancel| {
        RequestContext::new(revision, client, threshold, carried, outbox, cancel)
    }))
}

/// Serves a request of a session.
pub(super) fn in_session(
    server: &Arc<Server>,
    session: &Arc<Session>,
    request: Request,
    carried: Carried,
) -> Result<Exchange, RpcError> {
    session.touch();
    let place = session.in_flight.enter(&request.id)?;
    let (revision, client) = (session.revision, session.client.clone());
    let threshold = Threshold::Session(Arc::clone(session));
    Ok(begin(server, request, Some(place), |outbox, cancel| {
        RequestContext::new(revision, client, threshold, carried, outbox, cancel)
    }))
}

fn begin(
    server: &Arc<Server>,
    request: Request,
    place: Option<Place>,
    context: impl FnOnce(Outbox, CancellationToken) -> RequestContext,
) -> Exchange {
    let (outbox, reader) = Outbox::new();
    let cancel = place.as_ref().map(|place| place.cancel.clone()).unwrap_or_default();
    let context = Arc::new(context(outbox, cancel));
    let place = place.map(Arc::new);
    let (id, server, held) = (request.id.clone(), Arc::clone(server), place.clone());
    let work = async move {
        // A detached request keeps its place although nobody waits for it any more.
        let _held = held;
        let outcome = handle(&server, &context, &request).await;
        if let Some(session) = &context.session {
            session.touch();
        }
        outcome
    };
    Exchange::new(id, reader, place, work)
}

/// The one place that knows which handler serves which method in which era. `None`: withdrawn, no answer.
async fn handle(
    server: &Arc<Server>,
    context: &Arc<RequestContext>,
    request: &Request,
) -> Option<Result<Reply, RpcError>> {
    let params = request.params.as_deref();
    let stateless = context.revision.is_stateless();
    Some(match &request.method {
        Method::ListTools => lists::tools(server, context, params),
        Method::ListResources => lists::resources(server, context, params),
        Method::ListResourceTemplates => lists::templates(server, context, params),
        Method::ListPrompts => lists::prompts(server, context, params),
        Method::CallTool => return tools::call(server, context, params).await,
        Method::ReadResource => return resources::read(server, context, params).await,
        Method::GetPrompt => return prompts::get(server, context, params).await,
        Method::Complete => return completion::complete(server, context, params).await,
        Method::Discover if stateless => discover::discover(server, context),
        Method::Ping if !stateless => lifecycle::ping(server, context),
        Method::SetLevel if !stateless => logging::set_level(server, context, params),
        Method::Initialize if !stateless => {
            Err(RpcError::invalid_request("`initialize` was already done here; it begins a session once"))
        }
        other => Err(RpcError::method_not_found(other.as_str(), context.revision)),
    })
}

/// Makes the session that an `initialize` asks for, and its answer.
pub(super) fn initialize(server: &Arc<Server>, request: &Request) -> Result<(Session, Reply), RpcError> {
    let (revision, client): (_, ClientInfo) = lifecycle::read_initialize(request.params.as_deref())?;
    let session = Session::new(revision, client, server.settings.requests_per_session);
    let reply = lifecycle::initialized(server, revision)?;
    Ok((session, reply))
}
