//! One request and everything that goes back for it, in order: its notifications, then its answer.
//!
//! A transport pulls frames and writes them in whatever way it has. Dropping the exchange drops the request's future,
//! which stops the guest: right for the stateless revision, where a broken connection is a cancellation. A revision
//! with sessions detaches it first, because there only a notification cancels.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::StatusCode;
use tokio_util::task::TaskTracker;

use super::error::RpcError;
use super::in_flight::Place;
use super::message::{Id, error_response, response};
use super::outbox::OutboxReader;
use super::reply::Reply;

/// What a transport has to write next.
#[derive(Debug)]
pub enum Frame {
    /// A message that belongs to the request; more follows.
    Message(Bytes),
    /// The answer, with the HTTP status that goes with it where there is one.
    Answer(Bytes, StatusCode),
}

type Outcome = Option<(Bytes, StatusCode)>;

/// A request being served.
pub struct Exchange {
    work: Option<BoxFuture<'static, Outcome>>,
    outcome: Outcome,
    outbox: OutboxReader,
    /// Kept until the answer has been written, so that a client which does not read cannot pile up answers.
    _place: Option<Arc<Place>>,
}

impl Exchange {
    /// `work` is `None` in the end when the client has withdrawn the request, which then gets no answer.
    pub(super) fn new(
        id: Id,
        outbox: OutboxReader,
        place: Option<Arc<Place>>,
        work: impl Future<Output = Option<Result<Reply, RpcError>>> + Send + 'static,
    ) -> Self {
        let work = async move {
            Some(match work.await? {
                Ok(reply) => (response(&id, reply.as_json()), StatusCode::OK),
                Err(error) => (error_response(Some(&id), &error), error.status),
            })
        };
        Self { work: Some(work.boxed()), outcome: None, outbox, _place: place }
    }

    /// The next frame; `None` after the answer, or when there will be none.
    pub async fn next(&mut self) -> Option<Frame> {
        if let Some(work) = &mut self.work {
            tokio::select! {
                biased;
                Some(message) = self.outbox.recv() => return Some(Frame::Message(message)),
                outcome = work => {
                    self.work = None;
                    self.outcome = outcome;
                }
            }
        }
        // The guest may have spoken in the very poll that ended it.
        if let Ok(message) = self.outbox.try_recv() {
            return Some(Frame::Message(message));
        }
        self.outcome.take().map(|(bytes, status)| Frame::Answer(bytes, status))
    }

    /// Lets the request go on when this exchange is dropped, as a task of `owner`.
    pub(super) fn detach(mut self, owner: &TaskTracker) -> Self {
        if let Some(work) = self.work.take() {
            let task = owner.spawn(work);
            self.work = Some(async move { task.await.unwrap_or_default() }.boxed());
        }
        self
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("done", &self.work.is_none()).finish_non_exhaustive()
    }
}
