//! From a request to its handler.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::context::{RequestContext, Threshold};
use super::era::{Carried, Claims};
use super::error::RpcError;
use super::exchange::Exchange;
use super::handlers::{discover, lifecycle, logging, tools};
use super::in_flight::InFlight;
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
    let cancel = place.as_ref().map(|place| place.cancel.clone()).unwrap_or_default();
    let Claims { revision, client, log_level } = claims;
    let server = Arc::clone(server);
    Ok(begin(request, cancel, move |outbox, cancel, request| async move {
        let _place = place;
        let threshold = Threshold::Request(log_level);
        let context = RequestContext::new(revision, client, threshold, carried, outbox, cancel);
        handle(&server, &Arc::new(context), &request).await
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
    let (server, session) = (Arc::clone(server), Arc::clone(session));
    let cancel = place.cancel.clone();
    Ok(begin(request, cancel, move |outbox, cancel, request| async move {
        let _place = place;
        let (revision, client) = (session.revision, session.client.clone());
        let threshold = Threshold::Session(Arc::clone(&session));
        let context = RequestContext::new(revision, client, threshold, carried, outbox, cancel);
        let outcome = handle(&server, &Arc::new(context), &request).await;
        session.touch();
        outcome
    }))
}

fn begin<F, W>(request: Request, cancel: CancellationToken, work: F) -> Exchange
where
    F: FnOnce(Outbox, CancellationToken, Request) -> W + Send + 'static,
    W: Future<Output = Option<Result<Reply, RpcError>>> + Send + 'static,
{
    let (outbox, reader) = Outbox::new();
    let id = request.id.clone();
    Exchange::new(id, reader, work(outbox, cancel, request))
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
        Method::ListTools => tools::list(server, context, params),
        Method::CallTool => return tools::call(server, context, params).await,
        Method::Discover if stateless => discover::discover(server, context),
        Method::Ping if !stateless => lifecycle::ping(server, context),
        Method::SetLevel if !stateless => logging::set_level(server, context, params),
        Method::Initialize if !stateless => Err(RpcError::invalid_request(
            "this session is already initialized; begin another without a session id",
        )),
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
