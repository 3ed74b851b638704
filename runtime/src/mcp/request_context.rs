//! The context of one running request, stateless or of a session, for its handler.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::buffer_budget::BufferReservation;
use super::cancellation::Cancellation;
use super::client_requests::client_capabilities::ClientCapabilities;
use super::error::RpcError;
use super::jsonrpc::Request;
use super::notification_queue::{NotificationQueue, OutgoingMessage};
use super::request_meta::{RequestMeta, StatelessMeta};
use super::request_trace::RequestTrace;
use super::revision::Revision;
use super::sessions::session::Session;
use super::task_promotion::Promotion;
use crate::call_env::{Caller, ClientInfo, LogLevel};
use crate::json::RawObject;
use crate::observe::metrics::OperationHistograms;
use crate::observe::trace::TraceContext;

/// One running request. A stateless call may have several legs: each message of the client that resumes the call begins
/// another leg, while the work continues.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) revision: Revision,
    pub(crate) caller: Caller,
    /// Whether the client is certain to run on this machine.
    pub(crate) is_local: bool,
    pub(crate) cancel: Cancellation,
    /// `None` for a stateless request.
    pub(crate) session: Option<Arc<Session>>,
    /// The message of the first leg; the messages of later legs repeat it.
    pub(crate) request: Request,
    /// The span of the request; `None` if the request is not recorded.
    pub(crate) trace: Option<RequestTrace>,
    /// Whether and when the call becomes a task; `None` if it never does.
    pub(crate) promotion: Option<Promotion>,
    first_leg: RequestLeg,
    /// The current leg, unless it is the first.
    later_leg: Mutex<Option<Arc<RequestLeg>>>,
    /// Reservations for messages after the first one: those of later legs, and, in a session, responses to client
    /// requests.
    reservations: Mutex<Vec<Arc<BufferReservation>>>,
    forbidden: OnceLock<Forbidden>,
    /// The histograms of the request's item, once the item is known.
    histograms: OnceLock<Arc<OperationHistograms>>,
}

/// Why a running call may not go on.
#[derive(Debug)]
pub(crate) struct Forbidden {
    /// The caller that would have continued the call.
    pub(crate) caller: Caller,
    /// The response to the request.
    pub(crate) error: RpcError,
}

/// What one message of the client brings besides its method and its parameters.
#[derive(Debug)]
pub(crate) struct RequestLeg {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) threshold: LogThreshold,
    pub(crate) request_meta: RequestMeta,
    pub(crate) queue: NotificationQueue,
    /// `inputResponses` to client requests that the guest has not sent yet. Each is used once.
    pub(crate) responses: Mutex<RawObject>,
    /// Whether client requests can be sent on the response stream.
    pub(crate) can_send_requests: bool,
    /// Whether a response that rejects the request has a status code.
    pub(crate) has_status: bool,
}

/// A reference to the current leg of a request, which keeps that leg alive.
#[derive(Debug)]
pub(crate) enum RequestLegRef<'c> {
    First(&'c RequestLeg),
    Later(Arc<RequestLeg>),
}

impl Deref for RequestLegRef<'_> {
    type Target = RequestLeg;

    fn deref(&self) -> &RequestLeg {
        match self {
            Self::First(leg) => leg,
            Self::Later(leg) => leg,
        }
    }
}

/// The lowest level of log messages that are sent to the client.
#[derive(Debug, Clone)]
pub(crate) enum LogThreshold {
    /// The level that the request states; without one no log messages are sent.
    Request(Option<LogLevel>),
    /// The level of the session, which may change while a call runs.
    Session(Arc<Session>),
}

impl LogThreshold {
    pub(crate) fn admits(&self, level: LogLevel) -> bool {
        match self {
            Self::Request(threshold) => threshold.is_some_and(|threshold| level >= threshold),
            Self::Session(session) => level >= session.log_level.get(),
        }
    }
}

impl RequestLeg {
    /// Whether the client takes a task as the answer to this message. In a session it asks for one with the call.
    pub(crate) fn knows_tasks(&self, revision: Revision) -> bool {
        self.capabilities.tasks || !revision.is_stateless()
    }

    /// Takes the response to the client request with this key, if it came with the request.
    pub(crate) fn take_response(&self, key: &str) -> Option<Box<RawValue>> {
        self.responses.lock().take(key)
    }
}

impl RequestContext {
    pub(crate) fn new(requester: Requester, request: Request, first_leg: RequestLeg) -> Self {
        let Requester { revision, caller, is_local, session, cancel, trace, promotion } = requester;
        Self {
            revision,
            caller,
            is_local,
            cancel,
            session,
            request,
            trace,
            promotion,
            first_leg,
            later_leg: Mutex::default(),
            reservations: Mutex::default(),
            forbidden: OnceLock::new(),
            histograms: OnceLock::new(),
        }
    }

    /// What the client has declared about itself.
    pub(crate) fn client(&self) -> ClientInfo {
        match &self.session {
            Some(session) => session.client.clone(),
            None => {
                ClientInfo { is_local: self.is_local, ..StatelessMeta::client(&self.request, self.revision) }
            }
        }
    }

    /// The JSON text of `_meta` in the message of a leg.
    pub(crate) fn meta<'a>(&'a self, leg: &'a RequestLeg) -> Option<&'a str> {
        leg.request_meta.raw.as_deref().or_else(|| self.request.params.meta())
    }

    /// Sets the histograms of the request's item.
    pub(super) fn note_histograms(&self, histograms: Option<&Arc<OperationHistograms>>) {
        if let Some(histograms) = histograms {
            self.histograms.get_or_init(|| Arc::clone(histograms));
        }
    }

    /// The histograms of the request's item; `None` if the item is unknown or the request is not about an item.
    pub(super) fn histograms(&self) -> Option<&Arc<OperationHistograms>> {
        self.histograms.get()
    }

    /// Ends the call because its caller is no longer allowed to make it.
    pub(crate) fn forbid(&self, caller: Caller, error: RpcError) {
        // If there are several responses, the first failure counts.
        let _ = self.forbidden.set(Forbidden { caller, error });
        self.cancel.cancel();
    }

    /// Why the call may not go on; `None` if it may.
    pub(crate) fn forbidden(&self) -> Option<&Forbidden> {
        self.forbidden.get()
    }

    /// The current leg.
    pub(crate) fn leg(&self) -> RequestLegRef<'_> {
        match &*self.later_leg.lock() {
            Some(leg) => RequestLegRef::Later(Arc::clone(leg)),
            None => RequestLegRef::First(&self.first_leg),
        }
    }

    /// Begins another leg, for another message of the client.
    pub(crate) fn next_leg(&self, leg: Arc<RequestLeg>) {
        if let (Some(trace), Some(context)) = (&self.trace, &leg.request_meta.trace) {
            trace.scope().link(context);
        }
        *self.later_leg.lock() = Some(leg);
    }

    /// Makes the call a task, if that is possible now. Whether it is one.
    pub(crate) async fn detach(&self) -> bool {
        let Some(promotion) = &self.promotion else { return false };
        if promotion.is_task() {
            return true;
        }
        let (answer, answered) = oneshot::channel();
        let leg = self.leg();
        // An error means that the response stream is gone, and with it this call.
        leg.queue.deliver(OutgoingMessage::Detach(answer)).await.is_ok() && answered.await.unwrap_or(false)
    }

    /// Keeps the reservation for a message with responses until the call has ended, because the guest may use the
    /// responses until then.
    pub(crate) fn keep_reservation(&self, reservation: Option<Arc<BufferReservation>>) {
        self.reservations.lock().extend(reservation);
    }
}

/// The queue of the first leg; later legs have their own.
impl AsRef<NotificationQueue> for RequestContext {
    fn as_ref(&self) -> &NotificationQueue {
        &self.first_leg.queue
    }
}

impl AsRef<NotificationQueue> for RequestLeg {
    fn as_ref(&self) -> &NotificationQueue {
        &self.queue
    }
}

impl AsRef<Request> for RequestContext {
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

/// The client of a request, and how the request is cancelled.
#[derive(Debug)]
pub(crate) struct Requester {
    pub(crate) revision: Revision,
    pub(crate) caller: Caller,
    pub(crate) is_local: bool,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) cancel: Cancellation,
    pub(crate) trace: Option<RequestTrace>,
    pub(crate) promotion: Option<Promotion>,
}

/// Where a message comes from, and what can be sent back to the client.
#[derive(Debug, Clone)]
pub struct Channel {
    /// The caller for whom rates and shares are counted.
    pub caller: Caller,
    /// Whether client requests can be sent on the response stream.
    pub can_send_requests: bool,
    /// Whether a response that rejects the request has its own status code, which is so over HTTP except in a batch.
    pub has_status: bool,
    /// Whether the client is certain to run on this machine, so that its folders are also the server's folders.
    pub is_local: bool,
    /// The trace context that came in the transport's headers.
    pub trace: Option<TraceContext>,
}

#[cfg(test)]
mod tests {
    use super::super::buffer_budget::BufferBudget;
    use super::super::method::Method;
    use super::super::params::Params;
    use super::super::request_id::RequestId;
    use super::*;

    impl RequestContext {
        /// A call by a client that knows tasks.
        pub(crate) fn for_tests(buffers: &Arc<BufferBudget>, session: Option<Arc<Session>>) -> Arc<Self> {
            let caller = Caller::Stdio;
            let leg = RequestLeg {
                capabilities: ClientCapabilities::ALL,
                threshold: LogThreshold::Request(None),
                request_meta: RequestMeta::default(),
                queue: NotificationQueue::new(buffers, &caller),
                responses: Mutex::default(),
                can_send_requests: true,
                has_status: false,
            };
            let requester = Requester {
                revision: session.as_ref().map_or(Revision::V2026_07_28, |session| session.revision),
                caller,
                is_local: true,
                session,
                cancel: Cancellation::default(),
                trace: None,
                promotion: Some(Promotion::default()),
            };
            let (id, method, params) = (RequestId::Number(1), Method::CallTool, Params::default());
            Arc::new(Self::new(requester, Request { id, method, params, reservation: None }, leg))
        }
    }

    #[test]
    fn without_a_level_a_stateless_request_gets_no_log() {
        assert!(!LogThreshold::Request(None).admits(LogLevel::Emergency));
        assert!(LogThreshold::Request(Some(LogLevel::Info)).admits(LogLevel::Warning));
        assert!(!LogThreshold::Request(Some(LogLevel::Error)).admits(LogLevel::Warning));
    }
}
