//! The work of one request, whoever drives it.
//!
//! Most calls are done when they have been polled once. Work that is not runs as a task of its own, so that a client
//! which does not read cannot stop the clocks of its guest. The response stream of a request drives its task, and a
//! suspended call keeps it from one stream to the next; so it knows neither of them, and nothing of the request.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::error::RpcError;
use super::result_writer::EncodedResult;

/// How a handler ends: with a result, with an error, or withdrawn.
pub(super) type HandlerOutcome = Option<Result<EncodedResult, RpcError>>;

/// The work of one call.
pub(super) enum CallTask {
    /// Not begun. Most calls are done when they have been polled once, and those need no task.
    Fresh(BoxFuture<'static, HandlerOutcome>),
    /// A task that ends when this is dropped.
    Task(AbortOnDropHandle<HandlerOutcome>),
    /// A task that has another owner.
    Detached(JoinHandle<HandlerOutcome>),
}

impl CallTask {
    /// Whether the work has ended already, even if its outcome was not read yet.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Fresh(_) => false,
            Self::Task(task) => task.is_finished(),
            Self::Detached(task) => task.is_finished(),
        }
    }

    /// Lets work that has not begun go on when this is dropped, as a task of `owner`.
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
