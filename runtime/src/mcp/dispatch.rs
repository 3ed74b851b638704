//! Passes a request to its handler.
//!
//! A transport parses the message, determines its kind, and passes a [`Channel`] and one [`CatalogView`]. This module
//! gathers what the request needs in a `RequestContext`, and returns a [`ResponseStream`] that serves the request.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::call_task::{CallTask, HandlerOutcome};
use super::cancellation::Cancellation;
use super::catalog_view::CatalogView;
use super::error::RpcError;
use super::jsonrpc::Request;
use super::method::Method;
use super::methods::subscriptions::SubscriptionStream;
use super::methods::{
    completion, directory_read, discover, item_access, lifecycle, lists, logging, prompts, resources,
    session_tasks, skills, subscriptions, tasks, tools,
};
use super::mrtr::{self, MrtrParams};
use super::notification_queue::{NotificationQueue, NotificationReceiver};
use super::operation_metrics::error_type;
use super::request_context::{Channel, LogThreshold, RequestContext, RequestLeg, Requester};
use super::request_meta::{RequestMeta, StatelessMeta};
use super::request_trace::{RequestTrace, TraceSource};
use super::response_stream::ResponseStream;
use super::revision::Revision;
use super::server::Server;
use super::sessions::in_flight::{InFlight, InFlightGuard};
use super::sessions::session::Session;
use super::task_promotion::Promotion;
use super::{await_initial_load, hidden_item_audit};
use crate::json::RawObject;

/// Serves a stateless request. On stdio the request is registered in `in_flight`, because a notification can cancel it.
pub(crate) fn stateless(
    server: &Arc<Server>,
    view: CatalogView,
    request: Request,
    (stateless_meta, mut request_meta): (StatelessMeta, RequestMeta),
    in_flight: Option<&Arc<InFlight>>,
    channel: &Channel,
) -> Result<ResponseStream, RpcError> {
    let mrtr = MrtrParams::read(&request)?;
    let threshold = LogThreshold::Request(stateless_meta.log_level);
    let cancel = Cancellation::default();
    let guard = in_flight.map(|in_flight| in_flight.enter(&request.id, cancel.token().clone()).map(Arc::new));
    let guard = guard.transpose()?;
    let id = request.id.clone();
    let StatelessMeta { revision, capabilities, .. } = stateless_meta;
    let trace = match &mrtr.request_state {
        None => begin_trace(server, &request, Some(revision), &request_meta, channel),
        // The span of the suspended call continues. The call's context has the message of its first leg, so this
        // message is only a leg.
        Some(_) => {
            request_meta.raw = request.params.meta().map(Into::into);
            None
        }
    };
    let leg = |responses| RequestLeg {
        capabilities,
        threshold,
        request_meta,
        queue: NotificationQueue::new(&server.buffers, &channel.caller),
        responses: Mutex::new(responses),
        can_send_requests: true,
        has_status: channel.has_status,
    };
    let Some(state) = mrtr.request_state else {
        let (caller, is_local) = (channel.caller.clone(), channel.is_local);
        let promotion = promotion(&view, &request, capabilities.tasks);
        let requester = Requester { revision, caller, is_local, session: None, cancel, trace, promotion };
        let context = RequestContext::new(requester, request, leg(mrtr.responses));
        let (context, work) = start_handler(server, view, context, None);
        let reader = NotificationReceiver::of(context.clone());
        return Ok(ResponseStream::new(server, &context, id, reader, guard, CallTask::new(work)));
    };
    // The policy may have changed while the call was suspended.
    if let Err(error) = item_access::check_request(&view, &channel.caller, revision, &request) {
        hidden_item_audit::record_if_hidden(server, &channel.caller, &Arc::new(request));
        return Err(error);
    }
    let resumed = (state.as_str(), &mrtr.responses);
    let source = (&*server.suspended_calls, &*server.info, &channel.caller);
    let leg = Arc::new(leg(RawObject::default()));
    let reader = NotificationReceiver::of(leg.clone());
    let (context, work) = mrtr::resume(source, request, resumed, leg, guard.as_deref())?;
    Ok(ResponseStream::new(server, &context, id, reader, guard, work))
}

/// Serves a request of a session.
pub(crate) fn in_session(
    server: &Arc<Server>,
    session: &Arc<Session>,
    request: Request,
    request_meta: RequestMeta,
    channel: &Channel,
) -> Result<ResponseStream, RpcError> {
    session.touch();
    let cancel = Cancellation::default();
    let guard = Arc::new(session.in_flight.enter(&request.id, cancel.token().clone())?);
    let threshold = LogThreshold::Session(Arc::clone(session));
    let capabilities = session.capabilities;
    let trace = begin_trace(server, &request, Some(session.revision), &request_meta, channel);
    let leg = RequestLeg {
        capabilities,
        threshold,
        request_meta,
        queue: NotificationQueue::new(&server.buffers, &channel.caller),
        responses: Mutex::default(),
        can_send_requests: channel.can_send_requests,
        has_status: channel.has_status,
    };
    let view = server.catalog_view(&channel.caller);
    let knows_tasks = session.revision.has_core_tasks() && request.params.has_task();
    let promotion = promotion(&view, &request, knows_tasks);
    let requester = Requester {
        revision: session.revision,
        caller: channel.caller.clone(),
        is_local: session.client.is_local,
        session: Some(Arc::clone(session)),
        cancel,
        trace,
        promotion,
    };
    let id = request.id.clone();
    let context = RequestContext::new(requester, request, leg);
    // The task holds a guard too, so the entry of a detached request remains when its stream is dropped.
    let (context, work) = start_handler(server, view, context, Some(Arc::clone(&guard)));
    let reader = NotificationReceiver::of(context.clone());
    Ok(ResponseStream::new(server, &context, id, reader, Some(guard), CallTask::new(work)))
}

/// Whether the request may become a task: one that its client knows, or else a bridged one.
fn promotion(view: &CatalogView, request: &Request, knows_tasks: bool) -> Option<Promotion> {
    // During the initial load it is not known yet which plugins have bridged calls.
    let may_be_bridged = || !view.is_complete || view.snapshot.has_result_tools();
    match request.method {
        Method::CallTool if knows_tasks => Some(Promotion::default()),
        Method::CallTool if may_be_bridged() => Some(Promotion::bridged()),
        _ => None,
    }
}

fn begin_trace(
    server: &Server,
    request: &Request,
    revision: Option<Revision>,
    request_meta: &RequestMeta,
    channel: &Channel,
) -> Option<RequestTrace> {
    if !server.records_traces() {
        return None;
    }
    let source = TraceSource {
        tracer: server.tracer(),
        shares: server.trace_shares(),
        has_auth: server.authenticator().is_configured(),
        caller: &channel.caller,
        transport: channel.trace.as_ref(),
    };
    source.begin((&request.method, &request.id), revision, request_meta.trace.as_ref())
}

fn start_handler(
    server: &Arc<Server>,
    view: CatalogView,
    context: RequestContext,
    guard: Option<Arc<InFlightGuard>>,
) -> (Arc<RequestContext>, BoxFuture<'static, HandlerOutcome>) {
    let context = Arc::new(context);
    let (server, served) = (Arc::clone(server), Arc::clone(&context));
    let work = async move {
        let _guard = guard;
        let mut outcome = handle(&server, view, &served).await;
        let mut caller = &served.caller;
        if let Some(forbidden) = served.forbidden() {
            outcome = Some(Err(forbidden.error.clone()));
            caller = &forbidden.caller;
        }
        if let Some(Err(_)) = &outcome {
            hidden_item_audit::record_if_hidden(&server, caller, &served);
        }
        if let Some(trace) = &served.trace {
            trace.end(outcome.as_ref());
        }
        if let Some(session) = &served.session {
            session.touch();
        }
        outcome
    };
    (context, work.boxed())
}

/// Calls the handler for the request's method and revision. Returns `None` if the request was cancelled and gets no
/// response.
async fn handle(
    server: &Arc<Server>,
    mut view: CatalogView,
    context: &Arc<RequestContext>,
) -> HandlerOutcome {
    let params = &context.request.params;
    if let Err(error) = context.request.method.check_length(params.len()) {
        return Some(Err(error));
    }
    if !view.is_complete {
        // The snapshot from before the wait is outdated.
        drop(view);
        view = match await_initial_load::wait(server, context).await? {
            Ok(view) => view,
            Err(error) => return Some(Err(error)),
        };
    }
    let (stateless, has_core_tasks) = (context.revision.is_stateless(), context.revision.has_core_tasks());
    Some(match &context.request.method {
        Method::ListTools => lists::tools(server, &view, context, params),
        Method::ListResources => lists::resources(server, &view, context, params),
        Method::ListResourceTemplates => lists::templates(server, &view, context, params),
        Method::ListPrompts => lists::prompts(server, &view, context, params),
        Method::ListSkills => skills::list(server, &view, context, params).await,
        Method::GetSkill => skills::get(server, &view, context, params),
        Method::ReadDirectory => directory_read::read(server, &view, context, params),
        // A long call must not keep a replaced snapshot alive, so these handlers drop the view once they have found the
        // plugin.
        Method::CallTool => return tools::call(server, view, context, params).await,
        Method::ReadResource => return resources::read(server, view, context, params).await,
        Method::GetPrompt => return prompts::get(server, view, context, params).await,
        Method::Complete => return completion::complete(server, view, context, params).await,
        Method::Discover if stateless => discover::discover(server, context),
        Method::Listen if stateless => {
            drop(view);
            let subscription = match SubscriptionStream::open(server, context, params).await {
                Ok(subscription) => subscription,
                Err(error) => return Some(Err(error)),
            };
            hidden_item_audit::record_hidden_subscriptions(server, &context.caller, &subscription);
            return subscription.listen(server, context).await;
        }
        Method::GetTask if stateless => tasks::get(server, context, params).await,
        Method::UpdateTask if stateless => tasks::update(server, &view, context, params).await,
        Method::CancelTask if stateless => tasks::cancel(server, context, params).await,
        Method::GetTask if has_core_tasks => session_tasks::get(server, context, params).await,
        Method::CancelTask if has_core_tasks => return session_tasks::cancel(server, context, params).await,
        Method::TaskResult if has_core_tasks => return session_tasks::result(server, context, params).await,
        Method::Ping if !stateless => lifecycle::ping(server, context),
        Method::SetLevel if !stateless => logging::set_level(server, context, params),
        Method::Subscribe if !stateless => subscriptions::subscribe(server, &view, context, params),
        Method::Unsubscribe if !stateless => subscriptions::unsubscribe(server, context, params),
        Method::Initialize if !stateless => {
            Err(RpcError::invalid_request("`initialize` was already done here; it begins a session once"))
        }
        other => Err(RpcError::method_not_found(other.as_str(), context.revision)),
    })
}

/// Creates a session for an `initialize`, and the response. The session's memory counts for the channel's caller.
pub(crate) fn initialize(
    server: &Arc<Server>,
    request: &Request,
    request_meta: &RequestMeta,
    channel: &Channel,
) -> Result<(Session, Bytes), RpcError> {
    let timed = server.metrics.as_ref().map(|metrics| (metrics, Instant::now()));
    let trace = begin_trace(server, request, None, request_meta, channel);
    let initialized = begin_session(server, request, channel);
    if let Some(trace) = &trace {
        if let Ok((session, _)) = &initialized {
            trace.negotiated(session.revision);
        }
        trace.end(Some(&initialized));
    }
    let Some((metrics, begun)) = timed else { return initialized };
    metrics.record(&Method::Initialize, begun.elapsed(), error_type(initialized.as_ref(), |_| false));
    initialized.map(|(session, response)| (session.with_timer(metrics.sessions.begin()), response))
}

fn begin_session(
    server: &Arc<Server>,
    request: &Request,
    channel: &Channel,
) -> Result<(Session, Bytes), RpcError> {
    let (revision, mut client, capabilities) = lifecycle::read_initialize(&request.params)?;
    client.is_local = channel.is_local;
    let (tasks, stopping) = (server.tasks.clone(), server.stopping.clone());
    let (lists, client) = (server.released_lists(&channel.caller), (client, capabilities));
    let session = Session::new(server.share(&channel.caller), revision, client, lists, tasks, stopping);
    let result = lifecycle::initialized(server, revision, capabilities)?;
    Ok((session, result.into_response(&request.id).into_bytes()))
}
