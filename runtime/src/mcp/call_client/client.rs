//! Implements the trait `Client` of the layer `call_env`: turns what a guest sends into notifications and client
//! requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::client_requests::input_request::prepare;
use super::super::jsonrpc::notification;
use super::super::log_level::level_name;
use super::super::mrtr::{self, SuspendedCalls};
use super::super::request_context::RequestContext;
use super::super::request_id::RequestId;
use super::super::request_meta::is_reserved;
use super::super::sessions::client_roots::usable_roots;
use super::super::task_promotion::Promotion;
use super::session_request::{self, ResponseCheck};
use crate::access::{CallCharge, TokenReservation};
use crate::call_env::{
    Caller, Client, ClientInfo, ClientRequest, ClientRequestBody, ClientRequestError, ClientResponses,
    LogLevel, TaskSwitch,
};
use crate::capability::sampling_tokens;
use crate::json::RawObject;
use crate::observe::trace::SpanScope;
use crate::plugin::Plugin;
use crate::sandbox::LargeWork;

/// The key of the `roots/list` that is sent before the guest starts.
const ROOTS_KEY: &str = "plugport-roots";

/// What the roles of a caller say about a call that they allow.
#[derive(Debug, Default)]
pub(crate) struct AllowedCall {
    /// The names of the roles that allow the call; `None` without `[roles]`.
    pub(crate) roles: Option<Arc<str>>,
    /// Charges the call to a quota; `None` if no quota applies.
    pub(crate) charge: Option<Arc<CallCharge>>,
}

/// The client of one call to one plugin.
pub(crate) struct RequestClient {
    context: Arc<RequestContext>,
    suspended_calls: Arc<SuspendedCalls>,
    plugin: Arc<str>,
    max_suspended: usize,
    /// The plugin's permits for reading large requests and responses.
    offload: Arc<LargeWork>,
    /// The number of client requests so far. It becomes the key of a request to which the guest gave none.
    request_count: AtomicUsize,
    allowed: AllowedCall,
    response_check: ResponseCheck,
}

impl RequestClient {
    pub(crate) fn new(
        suspended_calls: &Arc<SuspendedCalls>,
        context: &Arc<RequestContext>,
        plugin: &Plugin,
        allowed: AllowedCall,
        response_check: ResponseCheck,
    ) -> Self {
        let max_suspended = usize::try_from(plugin.config().limits.suspended_calls).unwrap_or(usize::MAX);
        Self {
            context: Arc::clone(context),
            suspended_calls: Arc::clone(suspended_calls),
            plugin: Arc::clone(plugin.shared_name()),
            max_suspended,
            offload: Arc::clone(plugin.offload()),
            request_count: AtomicUsize::new(0),
            allowed,
            response_check,
        }
    }

    async fn send_requests(&self, requests: Vec<ClientRequest>) -> ClientResponses {
        let context = &*self.context;
        if !context.request.method.may_require_input() {
            let error = ClientRequestError::Invalid(
                "only tools, prompts and resources can send client requests".to_owned(),
            );
            return requests.iter().map(|_| Err(error.clone())).collect();
        }
        let capabilities = context.leg().capabilities;
        let mut results = Vec::new();
        let mut open = Vec::new();
        let mut reserved = Vec::new();
        for (at, request) in requests.into_iter().enumerate() {
            let number = self.request_count.fetch_add(1, Ordering::Relaxed) + 1;
            let bytes = request.body.size();
            let tokens = self.tokens(&request.body).await;
            let prepare = || prepare(request, number, context.revision, capabilities);
            let mut prepared = self.offload.in_place(bytes, prepare).await;
            if prepared.is_ok() {
                match self.reserve_tokens(tokens).await {
                    Ok(reservation) => reserved.extend(reservation.map(|reservation| (at, reservation))),
                    Err(over) => prepared = Err(over),
                }
            }
            results.push(prepared.as_ref().err().cloned().map(Err));
            open.extend(prepared.ok().map(|input_request| (at, input_request)));
        }
        let Self { plugin, offload, max_suspended, suspended_calls, .. } = self;
        let (plugin, max_suspended) = ((plugin, &**offload), *max_suspended);
        let responses = match &context.session {
            Some(session) => {
                let check = &self.response_check;
                session_request::in_session(
                    context,
                    session,
                    suspended_calls,
                    plugin,
                    max_suspended,
                    check,
                    open,
                )
                .await
            }
            None => mrtr::request_input(context, plugin, max_suspended, open).await,
        };
        for (at, response) in responses {
            if let Some(result) = results.get_mut(at) {
                *result = Some(response);
            }
        }
        let results: ClientResponses =
            results.into_iter().map(|result| result.unwrap_or(Err(ClientRequestError::TimedOut))).collect();
        for (at, reservation) in reserved {
            let error = results.get(at).and_then(|result| result.as_ref().err());
            if let (Some(charge), true) =
                (&self.allowed.charge, error.is_some_and(ClientRequestError::was_never_sent))
            {
                charge.refund(reservation);
            }
        }
        results
    }

    /// The number of tokens of the client's model that a request may use; zero if no quota counts them.
    async fn tokens(&self, body: &ClientRequestBody) -> u64 {
        match (&self.allowed.charge, body) {
            (Some(charge), ClientRequestBody::CreateMessage(params)) if charge.counts_tokens() => {
                self.offload.in_place(params.len(), || sampling_tokens(params)).await
            }
            _ => 0,
        }
    }

    /// Reserves tokens from the caller's quota, if there is one.
    async fn reserve_tokens(&self, tokens: u64) -> Result<Option<TokenReservation>, ClientRequestError> {
        let Some(charge) = self.allowed.charge.as_ref().filter(|_| tokens > 0) else { return Ok(None) };
        let reserved = charge.reserve_tokens(tokens).await;
        reserved.map(Some).map_err(|over| ClientRequestError::OverQuota(over.to_string()))
    }

    /// Returns the roots of a client on this machine. In a session, they are requested once, and again after each
    /// `notifications/roots/list_changed`.
    async fn roots(&self) -> Option<String> {
        let context = &*self.context;
        if !context.is_local || !context.leg().capabilities.roots {
            return None;
        }
        let cached = context.session.as_ref().map(|session| session.roots.get());
        if let Some((_, Some(roots))) = cached {
            return Some(roots);
        }
        let request = ClientRequest { key: Some(ROOTS_KEY.to_owned()), body: ClientRequestBody::ListRoots };
        let roots = usable_roots(&self.send_requests(vec![request]).await.pop()?.ok()?);
        if let (Some(session), Some((generation, _))) = (&context.session, cached) {
            session.roots.store(generation, &roots, &session.share);
        }
        Some(roots)
    }
}

#[derive(Serialize)]
struct LogParams<'a> {
    level: &'static str,
    logger: &'a str,
    data: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a RequestId,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// Sends a progress notification if the request has a progress token. A task has the message as its status message.
pub(in super::super) fn send_progress(
    context: &RequestContext,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) {
    if let (Some(promotion), Some(message)) = (&context.promotion, message) {
        promotion.set_message(message);
    }
    let leg = context.leg();
    let Some(progress_token) = leg.request_meta.progress_token.as_ref() else {
        return;
    };
    let message = message.filter(|_| context.revision.has_progress_message());
    let params = ProgressParams { progress_token, progress, total, message };
    leg.queue.send(notification("notifications/progress", &params));
}

impl Client for RequestClient {
    fn caller(&self) -> Caller {
        self.context.caller.clone()
    }

    fn charge(&self) -> Option<Arc<CallCharge>> {
        self.allowed.charge.clone()
    }

    fn roles(&self) -> Option<Arc<str>> {
        self.allowed.roles.clone()
    }

    fn info(&self) -> ClientInfo {
        self.context.client()
    }

    fn meta_size(&self) -> usize {
        self.context.meta(&self.context.leg()).map_or(0, str::len)
    }

    fn meta(&self) -> Option<String> {
        let leg = self.context.leg();
        let meta = RawObject::parse(self.context.meta(&leg)?).ok()?.without(is_reserved);
        if meta.is_empty() { None } else { serde_json::to_string(&meta).ok() }
    }

    fn cancelled(&self) -> bool {
        self.context.cancel.is_cancelled()
    }

    fn trace(&self) -> Option<SpanScope> {
        self.context.trace.as_ref().map(|trace| trace.scope().clone())
    }

    fn task_switch(&self) -> Option<&Arc<TaskSwitch>> {
        self.context.promotion.as_ref().map(Promotion::switch)
    }

    fn detach<'a>(&'a self, status: Option<&'a str>) -> BoxFuture<'a, bool> {
        if let (Some(promotion), Some(status)) = (&self.context.promotion, status) {
            promotion.set_message(status);
        }
        self.context.detach().boxed()
    }

    fn local_roots(&self) -> BoxFuture<'_, Option<String>> {
        self.roots().boxed()
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &RawValue) {
        let leg = self.context.leg();
        if !leg.threshold.admits(level) {
            return;
        }
        let logger =
            logger.map_or_else(|| self.plugin.to_string(), |logger| format!("{}/{logger}", self.plugin));
        let params = LogParams { level: level_name(level), logger: &logger, data };
        leg.queue.send(notification("notifications/message", &params));
    }

    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        send_progress(&self.context, progress, total, message);
    }

    fn send_requests(&self, requests: Vec<ClientRequest>) -> BoxFuture<'_, ClientResponses> {
        self.send_requests(requests).boxed()
    }
}
