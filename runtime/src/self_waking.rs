//! Polls a future again in its place if it has woken its own task during a poll.
//!
//! tokio queues a task that was woken while it ran, and wakes another worker, which looks for work, often takes the
//! task, and has none of its data in its caches. A future that only wants to be polled again is done sooner without
//! that. Knows no layer, so any layer may use it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

/// A wake is early if it comes this soon after the poll began. Guests that pause have usually run for longer. The
/// unoptimised code of the tests is slower.
const EARLY: Duration = Duration::from_micros(if cfg!(test) { 500 } else { 30 });

/// A future that still wakes itself after this many polls returns to tokio.
const MAX_POLLS: usize = 8;

/// A future that is polled again in its place if it has woken itself early in a poll.
///
/// hyper's connections are such futures: when a handler takes the body of a request, hyper wakes the task that reads
/// the connection. This is the task that runs the handler, and it reads on in the same poll. A guest that pauses wakes
/// the task too, at the end of the poll, and then the future returns to tokio.
#[derive(Debug)]
pub(crate) struct SelfWaking<F> {
    future: F,
    waker: PollWaker,
}

impl<F> SelfWaking<F> {
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

impl<F: Future + Unpin> Future for SelfWaking<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, waker } = self.get_mut();
        for _ in 0..MAX_POLLS {
            let begun = Instant::now();
            let (polled, woken) =
                waker.poll(context.waker(), &mut |context| Pin::new(&mut *future).poll(context));
            let Some(woken) = woken else { return polled };
            if polled.is_ready() {
                return polled;
            }
            if woken.duration_since(begun) >= EARLY {
                break;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
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
    phase: Mutex<PollPhase>,
    task: AtomicWaker,
}

#[derive(Debug, Default)]
enum PollPhase {
    /// No poll runs. A wake wakes the task.
    #[default]
    Resting,
    /// A poll runs, and nobody has woken the future since it began.
    Polling,
    /// A poll runs, and this is when the future was last woken.
    Woken(Instant),
}

impl PollWaker {
    pub(crate) fn new() -> Self {
        let state = Arc::new(WakerState::default());
        Self { waker: Waker::from(Arc::clone(&state)), state }
    }

    /// Polls once. Returns also when the future was last woken during the poll. `task` does not know of this wake.
    pub(crate) fn poll<T>(
        &self,
        task: &Waker,
        poll: &mut impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> (Poll<T>, Option<Instant>) {
        // A wake between these two lines wakes the task, which is then polled once more.
        self.state.task.register(task);
        *self.state.phase.lock() = PollPhase::Polling;
        let polled = poll(&mut Context::from_waker(&self.waker));
        match std::mem::take(&mut *self.state.phase.lock()) {
            PollPhase::Woken(woken) => (polled, Some(woken)),
            PollPhase::Resting | PollPhase::Polling => (polled, None),
        }
    }
}

impl Wake for WakerState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut phase = self.phase.lock();
        if let PollPhase::Resting = *phase {
            drop(phase);
            self.task.wake();
        } else {
            *phase = PollPhase::Woken(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A task that counts how often it is woken.
    #[derive(Default)]
    struct WakeCounter(AtomicUsize);

    impl Wake for WakeCounter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll_once<F: Future + Unpin>(future: &mut SelfWaking<F>, task: &Arc<WakeCounter>) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(task))))
    }

    /// Polls a future that wakes itself in each of its polls but the last, before or after it is slow. Returns how
    /// often it returned to its task before it was done.
    fn returns(polls: usize, wakes_early: bool) -> usize {
        let (task, mut polled) = (Arc::new(WakeCounter::default()), 0);
        let mut future = SelfWaking::new(poll_fn(|context| {
            polled += 1;
            if polled == polls {
                return Poll::Ready(());
            }
            if wakes_early {
                context.waker().wake_by_ref();
            }
            std::thread::sleep(EARLY);
            if !wakes_early {
                context.waker().wake_by_ref();
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
    fn a_future_that_wakes_itself_early_is_polled_again_a_few_times() {
        // On a busy machine some wakes are late, but not all of them.
        let fewest = |polls| (0..100).map(|_| returns(polls, true)).min();
        assert_eq!((fewest(MAX_POLLS), fewest(MAX_POLLS + 1)), (Some(0), Some(1)));
    }

    #[test]
    fn a_future_that_wakes_itself_late_returns_to_its_task() {
        assert_eq!(returns(5, false), 4);
    }

    #[test]
    fn a_future_that_waits_is_polled_once_and_wakes_the_task_that_polled_last() {
        let (first, second, mut kept) =
            (Arc::new(WakeCounter::default()), Arc::new(WakeCounter::default()), Vec::new());
        let mut future = SelfWaking::new(poll_fn(|context| {
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
        let waits = SelfWaking::new(poll_fn(|context| {
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
