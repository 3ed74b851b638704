//! The work of one request, independent of its driver.
//!
//! Most calls end with their first poll, and need no task. All others become a tokio task, so that a client which does
//! not read cannot stop the clocks of its guest. The response stream of a request drives the work, and a suspended call
//! keeps the work from one stream to the next. [`CallTask`] knows neither of them, nor the request.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::error::RpcError;
use super::result_writer::EncodedResult;

/// The outcome of a handler; `None` when the request was cancelled.
pub(super) type HandlerOutcome = Option<Result<EncodedResult, RpcError>>;

/// The work of one call.
pub(super) enum CallTask {
    /// Not polled yet. Most calls end with their first poll and need no task.
    Fresh(BoxFuture<'static, HandlerOutcome>),
    /// It ended with its first poll, and its outcome was not read yet.
    Ended(HandlerOutcome),
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
            Self::Ended(_) => true,
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

    /// Polls work that was not polled yet, which is all that most calls need.
    pub(super) fn poll_once(&mut self) {
        self.first_poll(&mut Context::from_waker(Waker::noop()));
    }

    fn first_poll(&mut self, context: &mut Context<'_>) {
        let Self::Fresh(future) = self else { return };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        if let Poll::Ready(outcome) = polled.unwrap_or_else(|_| Poll::Ready(panicked())) {
            *self = Self::Ended(outcome);
        }
    }

    /// Drives the work until it ends.
    pub(super) async fn outcome(&mut self) -> HandlerOutcome {
        poll_fn(|context| {
            self.first_poll(context);
            Poll::Ready(())
        })
        .await;
        if let Self::Fresh(future) = self {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Task(AbortOnDropHandle::new(tokio::spawn(future)));
        }
        match self {
            Self::Fresh(future) => future.await,
            Self::Ended(outcome) => outcome.take(),
            Self::Task(task) => joined(task.await),
            Self::Detached(task) => joined(task.await),
        }
    }
}

/// The outcome of a task. One that was aborted has none.
fn joined(joined: Result<HandlerOutcome, JoinError>) -> HandlerOutcome {
    joined.unwrap_or_else(|error| if error.is_panic() { panicked() } else { None })
}

/// The outcome of work that panicked: its client must not wait for a response that never comes.
fn panicked() -> HandlerOutcome {
    Some(Err(RpcError::internal("the server failed in this request; its standard error says where")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(work: impl Future<Output = ()> + Send + 'static) -> CallTask {
        CallTask::Fresh(work.map(|()| Some(Err(RpcError::invalid_request("done")))).boxed())
    }

    #[tokio::test]
    async fn work_that_ends_with_its_first_poll_is_no_task() {
        let owner = TaskTracker::new();
        let mut call = fresh(std::future::ready(()));
        call.poll_once();
        call.detach(&owner);
        assert!(call.is_finished() && owner.is_empty());
        assert!(call.outcome().await.is_some());
    }

    #[tokio::test]
    async fn work_that_goes_on_is_a_task_of_its_owner_and_needs_nobody_to_drive_it() {
        let owner = TaskTracker::new();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (end, ended) = tokio::sync::oneshot::channel();
        let mut call = fresh(async move {
            let _ = begun.await;
            let _ = end.send(());
        });
        call.poll_once();
        call.detach(&owner);
        assert!(!call.is_finished() && owner.len() == 1);
        drop(call);
        begin.send(()).unwrap();
        assert!(ended.await.is_ok());
    }

    #[tokio::test]
    async fn work_that_panics_ends_with_an_error_and_takes_nothing_with_it() {
        let is_error = |outcome: HandlerOutcome| matches!(outcome, Some(Err(error)) if error.code == -32603);
        let broken = || fresh(std::future::poll_fn(|_| panic!("for the test")));
        assert!(is_error(broken().outcome().await));
        let mut call = broken();
        call.poll_once();
        call.detach(&TaskTracker::new());
        assert!(is_error(call.outcome().await));
        let mut was_polled = false;
        let mut later = fresh(std::future::poll_fn(move |context| {
            assert!(!std::mem::replace(&mut was_polled, true), "for the test");
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        }));
        assert!(is_error(later.outcome().await));
    }
}
