//! The work of one request, independent of what drives it.
//!
//! The response stream of a request drives the work by polling it. So a call that ends with its first polls, or that
//! only pauses to let others run, needs no tokio task and stays on its thread. As soon as the driver has something else
//! to do, such as writing to a client that does not read, the work becomes a task, so that no client can stop the
//! clocks of its guest. When a call is suspended, its work moves from one response stream to the next. [`CallTask`]
//! knows neither the streams nor the request.

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

/// The work of one call, in one of four states.
pub(super) enum CallTask {
    /// The work is not a task. It progresses only while it is polled.
    InPlace {
        future: BoxFuture<'static, HandlerOutcome>,
        /// Whether `outcome` has been called before.
        was_driven: bool,
    },
    /// The work has ended, and its outcome has not been read.
    Ended(HandlerOutcome),
    /// The work is a task that is aborted when this is dropped.
    Task(AbortOnDropHandle<HandlerOutcome>),
    /// The work is a task that goes on when this is dropped.
    Detached(JoinHandle<HandlerOutcome>),
}

impl CallTask {
    /// Wraps work that has not been polled.
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

    /// Turns work in place into a task of `owner`, which goes on when this is dropped.
    pub(super) fn detach(&mut self, owner: &TaskTracker) {
        if let Self::InPlace { future, .. } = self {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Detached(owner.spawn(future));
        }
    }

    /// Turns work in place into a task, because its driver will not poll it for a while.
    pub(super) fn spawn(&mut self) {
        if let Self::InPlace { future, .. } = self {
            let future = std::mem::replace(future, std::future::ready(None).boxed());
            *self = Self::Task(AbortOnDropHandle::new(tokio::spawn(future)));
        }
    }

    /// Polls work in place once, which is enough for most calls.
    pub(super) fn poll_once(&mut self) {
        // `poll_in_place` records in `self` that the work has ended.
        let _ = self.poll_in_place(&mut Context::from_waker(Waker::noop()));
    }

    /// Ready when no work is left to poll in place.
    fn poll_in_place(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self::InPlace { future, .. } = self else { return Poll::Ready(()) };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(panicked())).map(|outcome| *self = Self::Ended(outcome))
    }

    /// Drives the work until it ends. If the returned future is dropped and this function is called again, the work
    /// becomes a task, because its driver evidently does other things too.
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

/// Returns the outcome of a task; `None` if the task was aborted.
fn joined(joined: Result<HandlerOutcome, JoinError>) -> HandlerOutcome {
    joined.unwrap_or_else(|error| if error.is_panic() { panicked() } else { None })
}

/// The outcome of work that panicked. It is an error, so that the client does not wait in vain.
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
