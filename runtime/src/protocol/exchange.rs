//! One request and everything that goes back for it, in order: its notifications, then its answer.
//!
//! A transport pulls frames and writes them in whatever way it has. Work that is not done at once runs as a task of its
//! own, so that a client which does not read cannot stop the clocks of its guest. Dropping the exchange ends that task:
//! right for the stateless revision, where a broken connection is a cancellation. A revision with sessions detaches it
//! first, because there only a notification cancels. When a stateless call asks its client something, the exchange ends
//! with the question and gives the task away to be kept for the retry.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use http::StatusCode;
use tokio::task::JoinHandle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::asking::parked::{Asking, Outcome};
use super::asking::rounds;
use super::context::RequestContext;
use super::error::RpcError;
use super::message::{Id, error_response, response};
use super::outbox::{Outbox, OutboxReader, Outgoing};
use super::server::Server;
use super::sessions::in_flight::Place;
use crate::host::Caller;

/// What a transport has to write next.
#[derive(Debug)]
pub enum Frame {
    /// A message that belongs to the request; more follows.
    Message(Bytes),
    /// The answer, with the HTTP status that goes with it where there is one.
    Answer(Bytes, StatusCode),
}

type Written = Option<(Bytes, StatusCode)>;

/// A request being served.
pub struct Exchange {
    work: Option<Work>,
    written: Written,
    outbox: OutboxReader,
    /// Kept until the answer has been written, so that a client which does not read cannot pile up answers.
    _place: Option<Arc<Place>>,
}

enum Work {
    Call { id: Id, running: Running, server: Arc<Server>, context: Arc<RequestContext> },
    Batch(BoxFuture<'static, Written>),
}

/// The work of one call.
pub(super) enum Running {
    /// Not begun. Most calls are done when they have been polled once, and those need no task.
    Fresh(BoxFuture<'static, Outcome>),
    /// A task that ends when this is dropped.
    Task(AbortOnDropHandle<Outcome>),
    /// A task that has another owner.
    Detached(JoinHandle<Outcome>),
}

impl Running {
    /// Whether it has ended already, whoever still waits for it.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Fresh(_) => false,
            Self::Task(task) => task.is_finished(),
            Self::Detached(task) => task.is_finished(),
        }
    }

    async fn outcome(&mut self) -> Outcome {
        if let Self::Fresh(future) = self {
            if let Some(outcome) = poll_fn(|context| Poll::Ready(ready(future.as_mut().poll(context)))).await
            {
                return outcome;
            }
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Task(AbortOnDropHandle::new(tokio::spawn(future)));
        }
        // A task that was ended, or that panicked, has no outcome.
        match self {
            Self::Fresh(future) => future.await,
            Self::Task(task) => task.await.unwrap_or_default(),
            Self::Detached(task) => task.await.unwrap_or_default(),
        }
    }
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

impl Work {
    async fn run(&mut self) -> Written {
        match self {
            Self::Call { id, running, server, context } => {
                let outcome = running.outcome().await?;
                Some(write(server, &context.caller, id, outcome))
            }
            Self::Batch(future) => future.await,
        }
    }

    /// Ends this exchange with a question and keeps the call for the retry that answers it.
    fn park(self, asking: Asking) -> Written {
        match self {
            Self::Call { id, running, server, context } => {
                let caller = context.caller.clone();
                Some(write(&server, &caller, &id, rounds::park(&server, running, context, asking)))
            }
            // Only a stateless call asks this way, and there are no batches of those.
            Self::Batch(_) => None,
        }
    }
}

/// An answer for which there is no room is replaced by an error that says so.
fn write(
    server: &Server,
    caller: &Caller,
    id: &Id,
    outcome: Result<super::reply::Reply, RpcError>,
) -> (Bytes, StatusCode) {
    let (answer, status) = match outcome {
        Ok(reply) => (response(id, reply.as_json()), StatusCode::OK),
        Err(error) => (error_response(Some(id), &error), error.status),
    };
    match server.buffers.keep(caller, answer) {
        Some(answer) => (answer, status),
        None => {
            let error = RpcError::no_room("the answer");
            (error_response(Some(id), &error), error.status)
        }
    }
}

impl Exchange {
    /// The outcome of `running` is `None` when the client has withdrawn the request, which then gets no answer.
    pub(super) fn new(
        server: &Arc<Server>,
        context: &Arc<RequestContext>,
        id: Id,
        outbox: OutboxReader,
        place: Option<Arc<Place>>,
        running: Running,
    ) -> Self {
        let (server, context) = (Arc::clone(server), Arc::clone(context));
        let work = Work::Call { id, running, server, context };
        Self { work: Some(work), written: None, outbox, _place: place }
    }

    /// Several requests that came as one message (2025-03-26): their messages as they come, their answers in one array
    /// at the end, after those that are there `already`.
    pub(super) fn batch(
        server: &Arc<Server>,
        caller: &Caller,
        exchanges: Vec<Self>,
        already: Vec<Bytes>,
    ) -> Self {
        let (outbox, reader) = Outbox::new(&server.buffers, caller);
        let (server, caller) = (Arc::clone(server), caller.clone());
        let answers = async move {
            let each = exchanges.into_iter().map(|exchange| exchange.forward(outbox.clone()));
            let answers: Vec<Bytes> =
                already.into_iter().chain(join_all(each).await.into_iter().flatten()).collect();
            let joined = answers.join(&b","[..]);
            if joined.is_empty() {
                return None;
            }
            let joined = [b"[", joined.as_slice(), b"]"].concat().into();
            let no_room = || error_response(None, &RpcError::no_room("the answers of the batch"));
            Some((server.buffers.keep(&caller, joined).unwrap_or_else(no_room), StatusCode::OK))
        };
        Self { work: Some(Work::Batch(answers.boxed())), written: None, outbox: reader, _place: None }
    }

    /// The request's id; none for a batch.
    pub(super) fn id(&self) -> Option<&Id> {
        match &self.work {
            Some(Work::Call { id, .. }) => Some(id),
            _ => None,
        }
    }

    async fn forward(mut self, outbox: Outbox) -> Option<Bytes> {
        while let Some(frame) = self.next().await {
            match frame {
                Frame::Message(message) => {
                    // Nobody reads the batch any more, but its requests go on.
                    let _ = outbox.deliver(Outgoing::Message(message)).await;
                }
                Frame::Answer(answer, _) => return Some(answer),
            }
        }
        None
    }

    /// The next frame; `None` after the answer, or when there will be none.
    pub async fn next(&mut self) -> Option<Frame> {
        if let Some(work) = &mut self.work {
            tokio::select! {
                biased;
                Some(outgoing) = self.outbox.recv() => return self.take(outgoing),
                written = work.run() => {
                    self.work = None;
                    self.written = written;
                }
            }
        }
        // The guest may have spoken in the very poll that ended it.
        if let Some(outgoing) = self.outbox.try_recv() {
            return self.take(outgoing);
        }
        self.written.take().map(|(bytes, status)| Frame::Answer(bytes, status))
    }

    fn take(&mut self, outgoing: Outgoing) -> Option<Frame> {
        match outgoing {
            Outgoing::Message(message) => Some(Frame::Message(message)),
            Outgoing::Ask(asking) => {
                let (bytes, status) = self.work.take()?.park(asking)?;
                Some(Frame::Answer(bytes, status))
            }
        }
    }

    /// Lets the request go on when this exchange is dropped, as a task of `owner`.
    pub(super) fn detach(mut self, owner: &TaskTracker) -> Self {
        if let Some(Work::Call { running, .. }) = &mut self.work
            && let Running::Fresh(future) = running
        {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *running = Running::Detached(owner.spawn(future));
        }
        self
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("done", &self.work.is_none()).finish_non_exhaustive()
    }
}
