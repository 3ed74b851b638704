//! Polls a future again in its place if it has woken its own task during a poll.
//!
//! tokio queues a task that was woken while it ran, and wakes another worker, which looks for work, often takes the
//! task, and has none of its data in its caches. A future that only wants to be polled again does better without that.
//! Knows no layer, so any layer may use it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

/// A future that has been polled for this long goes through tokio.
const BRIEF: Duration = Duration::from_micros(50);

/// No poll runs. A wake wakes the task.
const RESTING: u8 = 0;
/// A poll runs, and nobody has woken the future since it began.
const POLLING: u8 = 1;
/// A poll runs, and the future has been woken since it began.
const WOKEN: u8 = 2;

/// A future that is polled again in its place while its polls are brief.
///
/// hyper's connections are such futures: when a handler begins to read the body of a request, hyper wakes the task of
/// the connection, which is the one that runs the handler.
#[derive(Debug)]
pub(crate) struct PolledInPlace<F> {
    future: F,
    waker: PollWaker,
}

impl<F> PolledInPlace<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future, waker: PollWaker::new() }
    }

    pub(crate) fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    pub(crate) fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future + Unpin> Future for PolledInPlace<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, waker } = self.get_mut();
        let begun = Instant::now();
        loop {
            let (polled, was_woken) =
                waker.poll(context.waker(), &mut |context| Pin::new(&mut *future).poll(context));
            if polled.is_ready() || !was_woken {
                return polled;
            }
            if begun.elapsed() >= BRIEF {
                context.waker().wake_by_ref();
                return polled;
            }
        }
    }
}

/// A waker that only notes a wake during a poll, and otherwise wakes the task.
#[derive(Debug)]
pub(crate) struct PollWaker {
    state: Arc<WakerState>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct WakerState {
    /// [`RESTING`], [`POLLING`] or [`WOKEN`].
    phase: AtomicU8,
    task: AtomicWaker,
}

impl PollWaker {
    pub(crate) fn new() -> Self {
        let state = Arc::new(WakerState::default());
        Self { waker: Waker::from(Arc::clone(&state)), state }
    }

    /// Polls once. Returns also whether the future was woken during the poll, of which `task` then does not know.
    pub(crate) fn poll<T>(
        &self,
        task: &Waker,
        poll: &mut impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> (Poll<T>, bool) {
        self.state.task.register(task);
        self.state.phase.store(POLLING, Ordering::SeqCst);
        let polled = poll(&mut Context::from_waker(&self.waker));
        (polled, self.state.phase.swap(RESTING, Ordering::SeqCst) == WOKEN)
    }
}

impl Wake for WakerState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = self.phase.compare_exchange(POLLING, WOKEN, Ordering::SeqCst, Ordering::SeqCst);
        if noted == Err(RESTING) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A task that counts how often it is woken.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll_once<F: Future + Unpin>(future: &mut PolledInPlace<F>, task: &Arc<Task>) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(task))))
    }

    /// Polls a future that wakes itself three times, and is slow once, until it is done. Returns how often it returned to
    /// its task before.
    fn returns_of_a_future_that_wakes_itself() -> usize {
        let (task, mut polls) = (Arc::new(Task::default()), 0);
        let mut future = PolledInPlace::new(poll_fn(|context| {
            polls += 1;
            if polls == 4 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            if polls == 2 {
                std::thread::sleep(BRIEF);
            }
            Poll::Pending
        }));
        let mut returns = 0;
        while poll_once(&mut future, &task).is_pending() {
            returns += 1;
            assert_eq!(task.0.load(Ordering::SeqCst), returns, "its task is woken");
        }
        returns
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_unless_it_has_taken_long() {
        // A busy machine makes other polls slow too, but not always.
        let returns: Vec<_> = (0..100).map(|_| returns_of_a_future_that_wakes_itself()).collect();
        assert_eq!(returns.iter().min(), Some(&1), "{returns:?}");
    }

    #[test]
    fn a_future_that_waits_is_polled_once_and_wakes_the_task_that_polled_last() {
        let (first, second, mut kept) = (Arc::new(Task::default()), Arc::new(Task::default()), Vec::new());
        let mut future = PolledInPlace::new(poll_fn(|context| {
            kept.push(context.waker().clone());
            Poll::<()>::Pending
        }));
        assert!(poll_once(&mut future, &first).is_pending());
        assert!(poll_once(&mut future, &second).is_pending());
        drop(future);
        assert_eq!(kept.len(), 2);
        kept[0].wake_by_ref();
        assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
    }

    #[test]
    fn no_wake_of_another_thread_is_lost() {
        let called = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Waker>(1);
        let other = std::thread::spawn({
            let called = Arc::clone(&called);
            move || {
                for waker in receiver {
                    called.fetch_add(1, Ordering::SeqCst);
                    waker.wake();
                }
            }
        });
        let waits = PolledInPlace::new(poll_fn(|context| {
            if called.load(Ordering::SeqCst) >= 20_000 {
                return Poll::Ready(());
            }
            // The other thread may wake this task before the poll ends, or long after.
            drop(sender.try_send(context.waker().clone()));
            Poll::Pending
        }));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), waits).await });
        assert!(ended.is_ok());
        drop(sender);
        other.join().unwrap();
    }
}
