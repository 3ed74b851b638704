//! The work of one request, independent of its driver.
//!
//! Most calls end with their first poll. All others become a tokio task, so that a client which does not read cannot
//! stop the clocks of its guest. The response stream of a request drives the work, and a suspended call keeps the work
//! from one stream to the next. [`CallTask`] knows neither of them, nor the request.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::error::RpcError;
use super::result_writer::EncodedResult;

/// The outcome of a handler; `None` when the request was cancelled.
pub(super) type HandlerOutcome = Option<Result<EncodedResult, RpcError>>;

/// The work of one call.
pub(super) enum CallTask {
    /// Not polled yet. Most calls end with their first poll and need no task.
    Fresh(BoxFuture<'static, HandlerOutcome>),
    /// A task that ends when this is dropped.
    Task(AbortOnDropHandle<HandlerOutcome>),
    /// A task with another owner, which goes on when this is dropped.
    Detached(JoinHandle<HandlerOutcome>),
}

impl CallTask {
    /// Whether the work has ended, even if its outcome was not read yet.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Fresh(_) => false,
            Self::Task(task) => task.is_finished(),
            Self::Detached(task) => task.is_finished(),
        }
    }

    /// Makes work that was not polled yet a task of `owner`, which goes on when this is dropped.
    pub(super) fn detach(&mut self, owner: &TaskTracker) {
        if let Self::Fresh(future) = self {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Detached(owner.spawn(future));
        }
    }

    /// Drives the work until it ends.
    pub(super) async fn outcome(&mut self) -> HandlerOutcome {
        if let Self::Fresh(future) = self {
            if let Some(outcome) = poll_fn(|context| Poll::Ready(ready(future.as_mut().poll(context)))).await
            {
                return outcome;
            }
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Task(AbortOnDropHandle::new(tokio::spawn(future)));
        }
        // A task that was aborted, or that panicked, has no outcome.
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
