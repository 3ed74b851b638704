//! The work of one request, independent of its driver.
//!
//! The response stream of a request is the driver: it polls the work. So a call that ends with its first polls, or
//! that only pauses for others, needs no tokio task, and does not go from one thread to another and back. As soon as
//! the driver has something else to do, such as writing to a client that does not read, the work becomes a task, so
//! that no client stops the clocks of its guest. A suspended call keeps the work from one stream to the next.
//! [`CallTask`] knows neither of them, nor the request.

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
    /// It is no task, and goes on while it is driven.
    InPlace {
        future: BoxFuture<'static, HandlerOutcome>,
        /// Somebody waited for its outcome.
        was_driven: bool,
    },
    /// It ended, and its outcome was not read yet.
    Ended(HandlerOutcome),
    /// A task that ends when this is dropped.
    Task(AbortOnDropHandle<HandlerOutcome>),
    /// A task with another owner, which goes on when this is dropped.
    Detached(JoinHandle<HandlerOutcome>),
}

impl CallTask {
    /// Work that was not polled yet.
    pub(super) fn new(future: BoxFuture<'static, HandlerOutcome>) -> Self {
        Self::InPlace { future, was_driven: false }
    }

    /// Whether the work has ended, even if its outcome was not read yet.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::InPlace { .. } => false,
            Self::Ended(_) => true,
            Self::Task(task) => task.is_finished(),
            Self::Detached(task) => task.is_finished(),
        }
    }

    /// Makes work in place a task of `owner`, which goes on when this is dropped.
    pub(super) fn detach(&mut self, owner: &TaskTracker) {
        if let Self::InPlace { future, .. } = self {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Detached(owner.spawn(future));
        }
    }

    /// Makes work in place a task, since nobody drives it for a while.
    pub(super) fn spawn(&mut self) {
        if let Self::InPlace { future, .. } = self {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Task(AbortOnDropHandle::new(tokio::spawn(future)));
        }
    }

    /// Polls work in place, which is all that most calls need.
    pub(super) fn poll_once(&mut self) {
        // Whether it has ended is seen in `self`.
        let _ = self.poll_in_place(&mut Context::from_waker(Waker::noop()));
    }

    /// Ready when there is nothing left to poll in place.
    fn poll_in_place(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self::InPlace { future, .. } = self else { return Poll::Ready(()) };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(panicked())).map(|outcome| *self = Self::Ended(outcome))
    }

    /// Drives the work until it ends. If the returned future is dropped before, the work becomes a task when this is
    /// called again: its driver does other things as well.
    pub(super) async fn outcome(&mut self) -> HandlerOutcome {
        match self {
            Self::InPlace { was_driven: true, .. } => self.spawn(),
            Self::InPlace { was_driven, .. } => *was_driven = true,
            Self::Ended(_) | Self::Task(_) | Self::Detached(_) => {}
        }
        poll_fn(|context| self.poll_in_place(context)).await;
        match self {
            Self::InPlace { future, .. } => future.await,
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
        CallTask::new(work.map(|()| Some(Err(RpcError::invalid_request("done")))).boxed())
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
    async fn work_that_pauses_is_no_task_until_its_driver_comes_again() {
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let mut paused = false;
        let pause = poll_fn(move |context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }
        });
        let mut call = fresh(async move {
            pause.await;
            let _ = ended.await;
        });
        {
            let mut driving = std::pin::pin!(call.outcome());
            for _ in 0..3 {
                assert!(driving.as_mut().now_or_never().is_none());
            }
        }
        assert!(matches!(call, CallTask::InPlace { was_driven: true, .. }));
        assert!(call.outcome().now_or_never().is_none() && matches!(call, CallTask::Task(_)));
        end.send(()).unwrap();
        assert!(call.outcome().await.is_some());
        let mut left = fresh(std::future::pending());
        assert!(left.outcome().now_or_never().is_none());
        left.spawn();
        assert!(matches!(left, CallTask::Task(_)) && !left.is_finished());
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
