//! From a request to its handler.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::asking::parked::Outcome;
use super::asking::rounds::{self, Resumed, Returned};
use super::buffers::{Held, Share};
use super::connection::weight;
use super::context::{RequestContext, Round, Threshold, Via, Who};
use super::era::{Carried, Claims};
use super::error::RpcError;
use super::exchange::{Exchange, Running};
use super::handlers::{
    completion, discover, lifecycle, lists, logging, prompts, resources, subscriptions, tools,
};
use super::message::Request;
use super::method::Method;
use super::outbox::Outbox;
use super::reply::Reply;
use super::server::Server;
use super::sessions::in_flight::{InFlight, Place};
use super::sessions::session::Session;
use super::starting;
use crate::json::RawObject;

/// Serves a request that stands on its own. On stdio, where a notification can cancel it, it is entered in `in_flight`.
pub(super) fn stateless(
    server: &Arc<Server>,
    mut request: Request,
    (claims, carried): (Claims, Carried),
    in_flight: Option<&Arc<InFlight>>,
    via: &Via,
) -> Result<Exchange, RpcError> {
    let returned = Returned::read(&request)?;
    let (outbox, reader) = Outbox::new(&server.buffers, &via.caller);
    let threshold = Threshold::Request(claims.log_level);
    let cancel = CancellationToken::new();
    let place = in_flight.map(|in_flight| in_flight.enter(&request.id, cancel.clone()).map(Arc::new));
    let place = place.transpose()?;
    let id = request.id.clone();
    let Claims { revision, client, abilities, .. } = claims;
    let round = |answers| Round {
        abilities,
        threshold,
        carried,
        outbox,
        answers: Mutex::new(answers),
        can_ask: true,
    };
    let Some(state) = returned.state else {
        let who = Who { revision, client, caller: via.caller.clone(), session: None, cancel };
        let first = round(returned.answers);
        let context = RequestContext::new(who, Arc::new(request), Arc::clone(&server.parked), first);
        let (context, work) = begin(server, context, None);
        return Ok(Exchange::new(server, &context, id, reader, place, Running::Fresh(work)));
    };
    let held = request.held.take();
    let resumed = rounds::resume(server, &request, &state, &returned.answers, abilities)?;
    let held = held.and_then(|held| of_answers(held, &returned.answers));
    match resumed {
        Resumed::Call(waking, work) => {
            if let Some(place) = &place {
                place.rebind(waking.context.cancel.clone());
            }
            waking.context.hold(held);
            let context = waking.wake(round(RawObject::default()));
            Ok(Exchange::new(server, &context, id, reader, place, work))
        }
        Resumed::AskedAgain(context, reply) => {
            context.hold(held);
            let work = Running::Fresh(std::future::ready(Some(Ok(reply))).boxed());
            Ok(Exchange::new(server, &context, id, reader, place, work))
        }
    }
}

/// Of what is held for a retry, what its answers take: the call keeps nothing else of it. A retry is never part of a batch.
fn of_answers(held: Arc<Held>, answers: &RawObject) -> Option<Arc<Held>> {
    let bytes = answers.iter().map(|(_, answer)| answer.get().len()).sum();
    let mut held = Arc::into_inner(held)?;
    held.shrink_to(weight(bytes));
    Some(Arc::new(held))
}

/// Serves a request of a session.
pub(super) fn in_session(
    server: &Arc<Server>,
    session: &Arc<Session>,
    request: Request,
    carried: Carried,
    via: &Via,
) -> Result<Exchange, RpcError> {
    session.touch();
    let cancel = CancellationToken::new();
    let place = Arc::new(session.in_flight.enter(&request.id, cancel.clone())?);
    let (outbox, reader) = Outbox::new(&server.buffers, &via.caller);
    let threshold = Threshold::Session(Arc::clone(session));
    let abilities = session.abilities;
    let round =
        Round { abilities, threshold, carried, outbox, answers: Mutex::default(), can_ask: via.can_ask };
    let who = Who {
        revision: session.revision,
        client: session.client.clone(),
        caller: via.caller.clone(),
        session: Some(Arc::clone(session)),
        cancel,
    };
    let id = request.id.clone();
    let context = RequestContext::new(who, Arc::new(request), Arc::clone(&server.parked), round);
    // A detached request keeps its place although nobody waits for it any more.
    let (context, work) = begin(server, context, Some(Arc::clone(&place)));
    Ok(Exchange::new(server, &context, id, reader, Some(place), Running::Fresh(work)))
}

fn begin(
    server: &Arc<Server>,
    context: RequestContext,
    held: Option<Arc<Place>>,
) -> (Arc<RequestContext>, BoxFuture<'static, Outcome>) {
    let context = Arc::new(context);
    let (server, served) = (Arc::clone(server), Arc::clone(&context));
    let work = async move {
        let _held = held;
        let outcome = handle(&server, &served).await;
        if let Some(session) = &served.session {
            session.touch();
        }
        outcome
    };
    (context, work.boxed())
}

/// The one place that knows which handler serves which method in which era. `None`: withdrawn, no answer.
async fn handle(server: &Arc<Server>, context: &Arc<RequestContext>) -> Outcome {
    let params = context.request.params.as_deref();
    if let Err(error) = context.request.method.check_length(params.map_or(0, |params| params.get().len())) {
        return Some(Err(error));
    }
    if !server.catalog.is_complete()
        && let Err(error) = starting::wait(server, context).await?
    {
        return Some(Err(error));
    }
    let stateless = context.revision.is_stateless();
    Some(match &context.request.method {
        Method::ListTools => lists::tools(server, context, params),
        Method::ListResources => lists::resources(server, context, params),
        Method::ListResourceTemplates => lists::templates(server, context, params),
        Method::ListPrompts => lists::prompts(server, context, params),
        Method::CallTool => return tools::call(server, context, params).await,
        Method::ReadResource => return resources::read(server, context, params).await,
        Method::GetPrompt => return prompts::get(server, context, params).await,
        Method::Complete => return completion::complete(server, context, params).await,
        Method::Discover if stateless => discover::discover(server, context),
        Method::Listen if stateless => return subscriptions::listen(server, context, params).await,
        Method::Ping if !stateless => lifecycle::ping(server, context),
        Method::SetLevel if !stateless => logging::set_level(server, context, params),
        Method::Subscribe if !stateless => subscriptions::subscribe(server, context, params),
        Method::Unsubscribe if !stateless => subscriptions::unsubscribe(server, context, params),
        Method::Initialize if !stateless => {
            Err(RpcError::invalid_request("`initialize` was already done here; it begins a session once"))
        }
        other => Err(RpcError::method_not_found(other.as_str(), context.revision)),
    })
}

/// Makes the session that an `initialize` asks for, and its answer. What it keeps is kept for whoever has this share. `near`: its client runs on this machine.
pub(super) fn initialize(
    server: &Arc<Server>,
    request: &Request,
    share: Share,
    near: bool,
) -> Result<(Session, Reply), RpcError> {
    let (revision, mut client, abilities) = lifecycle::read_initialize(request.params.as_deref())?;
    client.near = near;
    let session = Session::new(server, share, revision, (client, abilities));
    let reply = lifecycle::initialized(server, revision)?;
    Ok((session, reply))
}
