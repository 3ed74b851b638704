//! Everything that is sent for one request, in order: notifications and client requests, then the response.
//!
//! All transports use this stream: they take its parts and write them. Dropping the stream aborts its [task](CallTask),
//! because in the stateless revision a broken connection cancels the request. In a session only a notification cancels
//! a request, so there the stream is detached first. When a stateless call needs input from its client, the stream ends
//! with `input_required`, and the suspended call keeps the task. When a call takes long and its client knows tasks, the
//! stream ends with the id of one, and the task's driver has the call.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio_util::task::TaskTracker;

use super::call_task::CallTask;
use super::client_requests::pending_input::PendingInput;
use super::error::{ResponseKind, RpcError};
use super::jsonrpc::error_response;
use super::mrtr::{self, SuspendedCall};
use super::notification_queue::{NotificationQueue, NotificationReceiver, OutgoingMessage};
use super::operation_metrics::OperationTimer;
use super::request_context::RequestContext;
use super::request_id::RequestId;
use super::response_line::ResponseLine;
use super::result_writer::EncodedResult;
use super::server::Server;
use super::sessions::in_flight::InFlightGuard;
use super::tasks::{NewTask, Promoter};
use crate::call_env::Caller;

/// The next part that a transport writes.
#[derive(Debug)]
pub enum ResponsePart {
    /// A notification or a client request; more parts follow.
    Message(Bytes),
    /// The response, which ends the stream.
    Response(ResponseLine, ResponseKind),
}

impl ResponsePart {
    /// Returns the part as one chunk.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Message(message) => message,
            Self::Response(response, _) => response.into_bytes(),
        }
    }
}

type EncodedResponse = Option<(ResponseLine, ResponseKind)>;

/// A running request.
pub struct ResponseStream {
    source: Option<ResponseSource>,
    response: EncodedResponse,
    queue: NotificationReceiver,
    /// Makes the call a task.
    promoter: Promoter,
    /// Held until the response has been written, so that a client that does not read cannot accumulate responses. Tasks
    /// have limits of their own.
    guard: Option<Arc<InFlightGuard>>,
}

enum ResponseSource {
    Call {
        id: RequestId,
        task: CallTask,
        server: Arc<Server>,
        context: Arc<RequestContext>,
        timer: Option<OperationTimer>,
    },
    Batch(BoxFuture<'static, EncodedResponse>),
}

impl ResponseSource {
    async fn run(&mut self) -> EncodedResponse {
        match self {
            Self::Call { id, task, server, context, timer } => {
                let outcome = task.outcome().await;
                if let Some(timer) = timer.take() {
                    timer.end(&outcome);
                }
                Some(encode(server, &context.caller, id, outcome?))
            }
            Self::Batch(future) => future.await,
        }
    }

    /// Suspends the call. Returns the result `input_required`, which ends this stream.
    fn suspend(self, pending_input: PendingInput) -> EncodedResponse {
        match self {
            Self::Call { id, task, server, context, timer } => {
                let caller = context.caller.clone();
                let call = SuspendedCall { task, context, pending_input };
                let suspended = Some(mrtr::suspend(&server.suspended_calls, &server.info, call));
                if let Some(timer) = timer {
                    timer.end(&suspended);
                }
                Some(encode(&server, &caller, &id, suspended?))
            }
            // Only stateless calls are suspended like this, and a batch has no stateless calls.
            Self::Batch(_) => None,
        }
    }
}

/// Encodes the response, or an error if the buffer budget is used up.
fn encode(
    server: &Server,
    caller: &Caller,
    id: &RequestId,
    outcome: Result<EncodedResult, RpcError>,
) -> (ResponseLine, ResponseKind) {
    let (response, kind) = match outcome {
        Ok(result) => (result.into_response(id), ResponseKind::Served),
        Err(error) => (error_response(Some(id), &error).into(), error.kind),
    };
    match response.counted(&server.buffers, caller) {
        Some(response) => (response, kind),
        None => {
            let error = RpcError::overloaded("the response");
            (error_response(Some(id), &error).into(), error.kind)
        }
    }
}

impl ResponseStream {
    /// The outcome of `task` is `None` when the client has cancelled the request. Such a request gets no response.
    pub(super) fn new(
        server: &Arc<Server>,
        context: &Arc<RequestContext>,
        id: RequestId,
        queue: NotificationReceiver,
        guard: Option<Arc<InFlightGuard>>,
        task: CallTask,
    ) -> Self {
        let (server, context) = (Arc::clone(server), Arc::clone(context));
        let timer = OperationTimer::start(server.metrics.as_ref(), &context);
        let promoter = Promoter::new(&server.call_tasks, &context);
        let source = ResponseSource::Call { id, task, server, context, timer };
        Self { source: Some(source), response: None, queue, promoter, guard }
    }

    /// Makes the stream of a batch (2025-03-26): first the messages of all requests as they come, then one array with
    /// all responses. `responses` are those that are known already.
    pub(super) fn batch(
        server: &Arc<Server>,
        caller: &Caller,
        streams: Vec<Self>,
        responses: Vec<Bytes>,
    ) -> Self {
        let queue = Arc::new(NotificationQueue::new(&server.buffers, caller));
        let reader = NotificationReceiver::of(queue.clone());
        let (server, caller) = (Arc::clone(server), caller.clone());
        let batch = async move {
            let each = streams.into_iter().map(|response_stream| response_stream.forward(queue.clone()));
            let responses: Vec<Bytes> =
                responses.into_iter().chain(join_all(each).await.into_iter().flatten()).collect();
            let joined = responses.join(&b","[..]);
            if joined.is_empty() {
                return None;
            }
            let joined = [b"[", joined.as_slice(), b"]"].concat().into();
            let overloaded = || error_response(None, &RpcError::overloaded("the responses of the batch"));
            let response = server.buffers.counted(&caller, joined).unwrap_or_else(overloaded);
            Some((response.into(), ResponseKind::Served))
        };
        Self {
            source: Some(ResponseSource::Batch(batch.boxed())),
            response: None,
            queue: reader,
            promoter: Promoter::never(),
            guard: None,
        }
    }

    /// The id of the request; `None` for a batch.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        match &self.source {
            Some(ResponseSource::Call { id, .. }) => Some(id),
            _ => None,
        }
    }

    async fn forward(mut self, queue: Arc<NotificationQueue>) -> Option<Bytes> {
        // While one request of the batch waits to send a message to the client, the other requests must go on.
        self.poll_once();
        self.spawn();
        while let Some(part) = self.next().await {
            match part {
                ResponsePart::Message(message) => {
                    // An error means that the batch's stream was dropped. Its requests go on.
                    let _ = queue.deliver(OutgoingMessage::Message(message)).await;
                }
                ResponsePart::Response(response, _) => return Some(response.into_bytes()),
            }
        }
        None
    }

    /// Returns the next part; `None` after the response, or when the request was cancelled.
    pub async fn next(&mut self) -> Option<ResponsePart> {
        while let Some(source) = &mut self.source {
            tokio::select! {
                biased;
                outgoing = self.queue.recv() => match outgoing {
                    OutgoingMessage::Detach(answer) => self.promoter.detach(answer),
                    outgoing => return self.next_part(outgoing),
                },
                response = source.run() => {
                    self.source = None;
                    self.response = response;
                }
                new = self.promoter.promoted() => return self.hand_over(new),
            }
        }
        // The last poll of the task may have queued messages.
        if let Some(outgoing) = self.queue.try_recv() {
            return self.next_part(outgoing);
        }
        self.response.take().map(|(response, kind)| ResponsePart::Response(response, kind))
    }

    /// Gives the call to the driver of a task. The result that names the task ends this stream.
    fn hand_over(&mut self, new: NewTask) -> Option<ResponsePart> {
        let Some(ResponseSource::Call { id, task, server, context, timer }) = self.source.take() else {
            return None;
        };
        let unused = Arc::new(NotificationQueue::new(&server.buffers, &context.caller));
        let queue = std::mem::replace(&mut self.queue, NotificationReceiver::of(unused));
        let begun = new.begin(task, queue, &server.info);
        self.promoter.has_begun();
        if let (Ok(_), Some(guard)) = (&begun, &self.guard) {
            guard.release();
        }
        let begun = Some(begun);
        if let Some(timer) = timer {
            timer.end(&begun);
        }
        let (response, kind) = encode(&server, &context.caller, &id, begun?);
        Some(ResponsePart::Response(response, kind))
    }

    fn next_part(&mut self, outgoing: OutgoingMessage) -> Option<ResponsePart> {
        // The driver writes this part before it polls again, and may have to wait for its client.
        self.spawn();
        match outgoing {
            OutgoingMessage::Message(message) => Some(ResponsePart::Message(message)),
            OutgoingMessage::InputRequired(pending_input) => {
                let (response, kind) = self.source.take()?.suspend(pending_input)?;
                Some(ResponsePart::Response(response, kind))
            }
            OutgoingMessage::Detach(answer) => {
                // The call has ended, so nobody waits for this.
                drop(answer);
                self.response.take().map(|(response, kind)| ResponsePart::Response(response, kind))
            }
        }
    }

    /// Polls the request if it has not been polled yet. Most requests end with the first poll, and then need no task
    /// when they are detached.
    pub(crate) fn poll_once(&mut self) {
        if let Some(ResponseSource::Call { task, .. }) = &mut self.source {
            task.poll_once();
        }
    }

    /// Turns the request into a task, because its driver may have to wait for its client.
    pub(crate) fn spawn(&mut self) {
        if let Some(ResponseSource::Call { task, .. }) = &mut self.source {
            task.spawn();
        }
    }

    /// Turns the request into a task of `owner`, which goes on when this stream is dropped.
    pub(crate) fn detach(mut self, owner: &TaskTracker) -> Self {
        if let Some(ResponseSource::Call { task, .. }) = &mut self.source {
            task.detach(owner);
        }
        self
    }
}

impl std::fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseStream").field("done", &self.source.is_none()).finish_non_exhaustive()
    }
}
