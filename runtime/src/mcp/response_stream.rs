//! Everything sent for one request, in order: notifications, then the response.
//!
//! There is one kind for all transports, which pull the parts and write them in whatever way they have. Dropping the
//! stream ends its [task](CallTask): right for the stateless revision, where a broken connection is a cancellation. A
//! revision with sessions detaches it first, because there only a notification cancels. When a stateless call needs
//! input from its client, the stream ends with `input_required`, and the suspended call keeps the task.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio_util::task::TaskTracker;

use super::client_requests::pending_input::PendingInput;
use super::error::{ResponseKind, RpcError};
use super::jsonrpc::{error_response, response};
use super::mrtr::{self, SuspendedCall};
use super::notification_queue::{NotificationQueue, NotificationReceiver, OutgoingMessage};
use super::request_context::RequestContext;
use super::request_id::RequestId;
use super::request_task::CallTask;
use super::result_writer::EncodedResult;
use super::server::Server;
use super::sessions::in_flight::InFlightGuard;
use crate::host::Caller;

/// What a transport has to write next.
#[derive(Debug)]
pub enum ResponsePart {
    /// A message that belongs to the request; more follows.
    Message(Bytes),
    /// The response, which ends the stream.
    Response(Bytes, ResponseKind),
}

type EncodedResponse = Option<(Bytes, ResponseKind)>;

/// A request being served.
pub struct ResponseStream {
    source: Option<ResponseSource>,
    written: EncodedResponse,
    queue: NotificationReceiver,
    /// Kept until the answer has been written, so that a client which does not read cannot pile up answers.
    _guard: Option<Arc<InFlightGuard>>,
}

enum ResponseSource {
    Call { id: RequestId, task: CallTask, server: Arc<Server>, context: Arc<RequestContext> },
    Batch(BoxFuture<'static, EncodedResponse>),
}

impl ResponseSource {
    async fn run(&mut self) -> EncodedResponse {
        match self {
            Self::Call { id, task, server, context } => {
                let outcome = task.outcome().await?;
                Some(write(server, &context.caller, id, outcome))
            }
            Self::Batch(future) => future.await,
        }
    }

    /// Ends this stream with `input_required` and keeps the call for the request that resumes it.
    fn suspend(self, pending_input: PendingInput) -> EncodedResponse {
        match self {
            Self::Call { id, task, server, context } => {
                let caller = context.caller.clone();
                let call = SuspendedCall { task, context, pending_input };
                Some(write(&server, &caller, &id, mrtr::suspend(&server.suspended_calls, &server.info, call)))
            }
            // Only a stateless call is suspended this way, and no batch has one.
            Self::Batch(_) => None,
        }
    }
}

/// An answer for which there is no room is replaced by an error that says so.
fn write(
    server: &Server,
    caller: &Caller,
    id: &RequestId,
    outcome: Result<EncodedResult, RpcError>,
) -> (Bytes, ResponseKind) {
    let (answer, kind) = match outcome {
        Ok(reply) => (response(id, reply.as_json()), ResponseKind::Served),
        Err(error) => (error_response(Some(id), &error), error.kind),
    };
    match server.buffers.counted(caller, answer) {
        Some(answer) => (answer, kind),
        None => {
            let error = RpcError::no_room("the answer");
            (error_response(Some(id), &error), error.kind)
        }
    }
}

impl ResponseStream {
    /// The outcome of `task` is `None` when the client has withdrawn the request, which then gets no answer.
    pub(super) fn new(
        server: &Arc<Server>,
        context: &Arc<RequestContext>,
        id: RequestId,
        queue: NotificationReceiver,
        guard: Option<Arc<InFlightGuard>>,
        task: CallTask,
    ) -> Self {
        let (server, context) = (Arc::clone(server), Arc::clone(context));
        let source = ResponseSource::Call { id, task, server, context };
        Self { source: Some(source), written: None, queue, _guard: guard }
    }

    /// Several requests that came as one message (2025-03-26): their messages as they come, their answers in one array
    /// at the end, after those that are there `already`.
    pub(super) fn batch(
        server: &Arc<Server>,
        caller: &Caller,
        streams: Vec<Self>,
        already: Vec<Bytes>,
    ) -> Self {
        let (queue, reader) = NotificationQueue::new(&server.buffers, caller);
        let (server, caller) = (Arc::clone(server), caller.clone());
        let answers = async move {
            let each = streams.into_iter().map(|response_stream| response_stream.forward(queue.clone()));
            let answers: Vec<Bytes> =
                already.into_iter().chain(join_all(each).await.into_iter().flatten()).collect();
            let joined = answers.join(&b","[..]);
            if joined.is_empty() {
                return None;
            }
            let joined = [b"[", joined.as_slice(), b"]"].concat().into();
            let no_room = || error_response(None, &RpcError::no_room("the answers of the batch"));
            Some((server.buffers.counted(&caller, joined).unwrap_or_else(no_room), ResponseKind::Served))
        };
        Self {
            source: Some(ResponseSource::Batch(answers.boxed())),
            written: None,
            queue: reader,
            _guard: None,
        }
    }

    /// The request's id; none for a batch.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        match &self.source {
            Some(ResponseSource::Call { id, .. }) => Some(id),
            _ => None,
        }
    }

    async fn forward(mut self, queue: NotificationQueue) -> Option<Bytes> {
        while let Some(part) = self.next().await {
            match part {
                ResponsePart::Message(message) => {
                    // Nobody reads the batch any more, but its requests go on.
                    let _ = queue.deliver(OutgoingMessage::Message(message)).await;
                }
                ResponsePart::Response(answer, _) => return Some(answer),
            }
        }
        None
    }

    /// The next part; `None` after the response, or when there will be none.
    pub async fn next(&mut self) -> Option<ResponsePart> {
        if let Some(source) = &mut self.source {
            tokio::select! {
                biased;
                Some(outgoing) = self.queue.recv() => return self.next_part(outgoing),
                written = source.run() => {
                    self.source = None;
                    self.written = written;
                }
            }
        }
        // The guest may have spoken in the very poll that ended it.
        if let Some(outgoing) = self.queue.try_recv() {
            return self.next_part(outgoing);
        }
        self.written.take().map(|(bytes, kind)| ResponsePart::Response(bytes, kind))
    }

    fn next_part(&mut self, outgoing: OutgoingMessage) -> Option<ResponsePart> {
        match outgoing {
            OutgoingMessage::Message(message) => Some(ResponsePart::Message(message)),
            OutgoingMessage::InputRequired(pending_input) => {
                let (bytes, kind) = self.source.take()?.suspend(pending_input)?;
                Some(ResponsePart::Response(bytes, kind))
            }
        }
    }

    /// Lets the request go on when this stream is dropped, as a task of `owner`.
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
