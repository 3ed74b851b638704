//! Lets a guest that yields go on in its place while no other plugin waits for its thread.
//!
//! A guest that pauses by fuel or in a new epoch wakes its own task and returns. tokio then queues the task again and
//! wakes another worker, which looks for work, often takes the task, and has none of its data in its caches. That can
//! take as long as the guest's work from one pause to the next. So the guest is polled again at once while nobody waits.
//! Once a millisecond it goes through tokio all the same, as its first pause does: tokio then wakes a worker that waits
//! for I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use tokio::task::coop::has_budget_remaining;

/// How long a guest goes on without tokio. Tasks that the guest has woken wait for so long, other calls of its plugin if
/// these use all of the plugin's permits, cancellation, and `wall_ms`.
const IN_PLACE: Duration = Duration::from_millis(1);

/// No poll runs: who wakes the call wakes its task.
const RESTING: u8 = 0;
/// A poll runs, and nobody has woken the call since it began.
const POLLING: u8 = 1;
/// A poll runs, and the call has been woken since it began.
const WOKEN: u8 = 2;

/// The pauses of one call.
#[derive(Debug, Default)]
pub(super) struct Yields {
    /// Made when the call is polled for the second time: most calls are done in their first poll.
    waker: Option<YieldWaker>,
}

impl Yields {
    /// Polls a guest, again and again while it yields and `nobody_waits`.
    pub(super) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        nobody_waits: impl Fn() -> bool,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Some(waker) = &self.waker else {
            let polled = poll(context);
            if polled.is_pending() {
                self.waker = Some(YieldWaker::new());
            }
            return polled;
        };
        let begun = Instant::now();
        loop {
            let (polled, was_woken) = waker.poll(context.waker(), &mut poll);
            if polled.is_ready() || !was_woken {
                return polled;
            }
            // Without a budget whatever the guest waits for in tokio would only wake it again.
            if !nobody_waits() || !has_budget_remaining() || begun.elapsed() >= IN_PLACE {
                context.waker().wake_by_ref();
                return polled;
            }
        }
    }
}

/// A waker that keeps to itself what happens during a poll.
#[derive(Debug)]
struct YieldWaker {
    state: Arc<YieldState>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct YieldState {
    /// [`RESTING`], [`POLLING`] or [`WOKEN`].
    phase: AtomicU8,
    task: AtomicWaker,
}

impl YieldWaker {
    fn new() -> Self {
        let state = Arc::new(YieldState::default());
        Self { waker: Waker::from(Arc::clone(&state)), state }
    }

    /// Polls once. The second value says whether the call was woken meanwhile; `task` then does not know of it.
    fn poll<T>(&self, task: &Waker, poll: &mut impl FnMut(&mut Context<'_>) -> Poll<T>) -> (Poll<T>, bool) {
        self.state.task.register(task);
        self.state.phase.store(POLLING, Ordering::SeqCst);
        let polled = poll(&mut Context::from_waker(&self.waker));
        (polled, self.state.phase.swap(RESTING, Ordering::SeqCst) == WOKEN)
    }
}

impl Wake for YieldState {
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
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts how often a task is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Woken {
        fn times(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    fn yields<T>(context: &mut Context<'_>) -> Poll<T> {
        context.waker().wake_by_ref();
        Poll::Pending
    }

    #[test]
    fn a_guest_goes_on_while_nobody_waits() {
        let (woken, mut calls, mut pauses) = (Arc::new(Woken::default()), Yields::default(), 0);
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut guest = |context: &mut Context<'_>| {
            pauses += 1;
            if pauses < 9 { yields(context) } else { Poll::Ready(pauses) }
        };
        assert!(calls.poll(&mut context, || true, &mut guest).is_pending());
        assert_eq!(calls.poll(&mut context, || true, &mut guest), Poll::Ready(9));
        assert_eq!(woken.times(), 1, "only the first pause goes through the task");
    }

    #[test]
    fn a_guest_pauses_while_others_wait_and_its_task_knows() {
        let (woken, mut calls) = (Arc::new(Woken::default()), Yields::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        for times in 1..4 {
            assert!(calls.poll(&mut context, || false, yields::<()>).is_pending());
            assert_eq!(woken.times(), times);
        }
    }

    #[test]
    fn a_guest_that_never_ends_pauses_all_the_same() {
        let (woken, mut calls) = (Arc::new(Woken::default()), Yields::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let begun = Instant::now();
        for _ in 0..3 {
            assert!(calls.poll(&mut context, || true, yields::<()>).is_pending());
        }
        assert!(begun.elapsed() >= 2 * IN_PLACE);
        assert_eq!(woken.times(), 3);
    }

    #[test]
    fn who_waits_is_not_polled_again_and_is_woken_later() {
        let (woken, mut calls) = (Arc::new(Woken::default()), Yields::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        assert!(calls.poll(&mut context, || true, yields::<()>).is_pending());
        let (mut polls, mut kept) = (0, None);
        let waiting = |context: &mut Context<'_>| -> Poll<()> {
            polls += 1;
            kept = Some(context.waker().clone());
            Poll::Pending
        };
        assert!(calls.poll(&mut context, || true, waiting).is_pending());
        assert_eq!((polls, woken.times()), (1, 1));
        kept.unwrap().wake();
        assert_eq!(woken.times(), 2);
    }

    #[tokio::test]
    async fn nobody_spins_whose_budget_of_tokio_is_used_up() {
        let (mut calls, mut polls) = (Yields::default(), 0);
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1_000);
        for _ in 0..1_000 {
            sender.try_send(()).unwrap();
        }
        let mut received = 0;
        std::future::poll_fn(|context| {
            calls.poll(
                context,
                || true,
                |context| {
                    polls += 1;
                    while receiver.poll_recv(context).is_ready() {
                        received += 1;
                        if received == 1_000 {
                            return Poll::Ready(());
                        }
                    }
                    Poll::Pending
                },
            )
        })
        .await;
        assert!(polls < 20, "{polls}");
    }
}
