//! Which threads guests may occupy: never the last worker of the async runtime.
//!
//! A guest's own code pauses by fuel and by epochs, but a function of the engine or of a library that works for a guest
//! does not pause, and while it works its thread serves nobody. So a poll of a guest takes a slot, of which there is one
//! fewer than workers: HTTP, cancellation and signals always have a thread. A poll that finds no slot waits for one in
//! turn. When few polls end on the workers although others wait, the [ticker](super::epoch_ticker) adds slots; polls in those run
//! beside the workers (`block_in_place`), where the kernel shares the processors among them by time. A plugin has no more
//! polls under way at once than there are workers for guests, however many calls it has.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::thread::Thread;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Slots that the ticker may add: each is a thread while it is used.
const MOST_ADDED: usize = 256;

/// Polls that end on one worker in a tick when guests pause by fuel are a hundred; with fewer than these, some take so long
/// that a guest which pauses by fuel would get a small part of the time.
const BRISK: u64 = 8;

/// Worker threads of the async runtime: one for each processor, on which guests may run, and one on which they may not.
#[must_use]
pub fn worker_threads() -> usize {
    guest_workers() + 1
}

fn guest_workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The slots of all guests of a process.
#[derive(Debug)]
pub(crate) struct PollSlots {
    /// Workers that guests may occupy.
    workers: usize,
    common: Arc<Semaphore>,
    /// Polls that run on workers.
    on_workers: AtomicUsize,
    /// Polls that wait for one of the common slots.
    waiting: AtomicUsize,
    begun: AtomicU64,
    ended_on_workers: AtomicU64,
    ended_beside: AtomicU64,
    ticker: Ticker,
}

/// The thread that ticks, and whether it sleeps until a poll begins.
#[derive(Debug, Default)]
struct Ticker {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

/// What the ticker remembers from one tick to the next.
#[derive(Debug, Default)]
pub(super) struct Seen {
    begun: u64,
    ended_on_workers: u64,
    added: usize,
}

impl PollSlots {
    pub(crate) fn new() -> Self {
        Self::with_workers(guest_workers())
    }

    fn with_workers(workers: usize) -> Self {
        Self {
            workers,
            common: Arc::new(Semaphore::new(workers)),
            on_workers: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            ended_on_workers: AtomicU64::new(0),
            ended_beside: AtomicU64::new(0),
            ticker: Ticker::default(),
        }
    }

    /// The share of one plugin.
    pub(crate) fn share(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.workers))
    }

    /// Looks, once a tick, how brisk the polls on the workers are: adds slots while they are slow and others wait, and takes
    /// those away again. Whether none has ended since the last tick.
    pub(super) fn look(&self, seen: &mut Seen) -> bool {
        let ended = self.ended_on_workers.load(Ordering::Relaxed);
        let on_workers = self.on_workers.load(Ordering::Relaxed);
        let ended_since = ended.wrapping_sub(seen.ended_on_workers);
        if ended_since >= BRISK * self.workers as u64 || on_workers < self.workers {
            seen.added -= self.common.forget_permits(seen.added);
        } else {
            let waiting = self.waiting.load(Ordering::Relaxed);
            let more = waiting.min(MOST_ADDED.saturating_sub(seen.added));
            self.common.add_permits(more);
            seen.added += more;
        }
        seen.begun = self.begun.load(Ordering::Relaxed);
        seen.ended_on_workers = ended;
        ended_since == 0 && on_workers > 0
    }

    /// Whether no guest has been polled since the ticker last looked.
    pub(super) fn is_idle(&self, seen: &Seen) -> bool {
        let ended = self.ended_on_workers.load(Ordering::Relaxed) + self.ended_beside.load(Ordering::Relaxed);
        self.begun.load(Ordering::Relaxed) == seen.begun && seen.begun == ended
    }

    /// Names the thread that ticks.
    pub(super) fn set_ticker(&self, thread: Thread) {
        // Only one is ever started for these slots.
        let _ = self.ticker.thread.set(thread);
    }

    /// Lets the thread that ticks, which calls this, sleep until a poll begins or it is woken.
    pub(super) fn sleep_while_idle(&self, seen: &Seen) {
        self.ticker.asleep.store(true, Ordering::SeqCst);
        if self.begun.load(Ordering::SeqCst) == seen.begun {
            std::thread::park();
        }
        self.ticker.asleep.store(false, Ordering::SeqCst);
    }

    fn wake_ticker(&self) {
        if let Some(thread) = self.ticker.thread.get() {
            thread.unpark();
        }
    }

    fn begin(&self) -> Polling<'_> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        if self.ticker.asleep.load(Ordering::SeqCst) {
            self.wake_ticker();
        }
        let on_worker = self.on_workers.fetch_add(1, Ordering::Relaxed) < self.workers;
        if !on_worker {
            self.on_workers.fetch_sub(1, Ordering::Relaxed);
        }
        Polling { slots: self, on_worker }
    }
}

/// A poll that is under way.
struct Polling<'s> {
    slots: &'s PollSlots,
    on_worker: bool,
}

impl Polling<'_> {
    fn run<T>(&self, poll: impl FnOnce() -> T) -> T {
        if self.on_worker || !can_leave_worker() { poll() } else { tokio::task::block_in_place(poll) }
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        if self.on_worker {
            self.slots.on_workers.fetch_sub(1, Ordering::Relaxed);
            self.slots.ended_on_workers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.slots.ended_beside.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether the runtime has workers that another thread can go on for.
fn can_leave_worker() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// The polls of one call, each in a slot of its plugin and one of all.
pub(crate) struct SlottedPolls {
    slots: Arc<PollSlots>,
    own: Slot,
    common: Slot,
}

impl SlottedPolls {
    /// For a call of the plugin whose share is `own`.
    pub(crate) fn new(slots: &Arc<PollSlots>, own: &Arc<Semaphore>) -> Self {
        let common = Arc::clone(&slots.common);
        Self { slots: Arc::clone(slots), own: Slot::new(Arc::clone(own)), common: Slot::new(common) }
    }

    /// Runs `poll` in a slot, once there is one.
    pub(crate) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        ready!(self.own.poll_take(context));
        let was_waiting = self.common.is_waiting();
        let taken = self.common.poll_take(context);
        match (was_waiting, taken.is_ready()) {
            (false, false) => _ = self.slots.waiting.fetch_add(1, Ordering::Relaxed),
            (true, true) => _ = self.slots.waiting.fetch_sub(1, Ordering::Relaxed),
            (false, true) | (true, false) => {}
        }
        ready!(taken);
        let polling = self.slots.begin();
        let polled = polling.run(|| poll(context));
        drop(polling);
        self.common.give_back();
        self.own.give_back();
        polled
    }
}

impl Drop for SlottedPolls {
    fn drop(&mut self) {
        if self.common.is_waiting() {
            self.slots.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

type Acquiring = dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send;

/// A permit of a semaphore, had or waited for.
struct Slot {
    semaphore: Arc<Semaphore>,
    state: SlotState,
}

enum SlotState {
    Free,
    Waiting(Pin<Box<Acquiring>>),
    Taken { _permit: Option<OwnedSemaphorePermit> },
}

impl Slot {
    fn new(semaphore: Arc<Semaphore>) -> Self {
        Self { semaphore, state: SlotState::Free }
    }

    fn is_waiting(&self) -> bool {
        matches!(self.state, SlotState::Waiting(_))
    }

    fn give_back(&mut self) {
        self.state = SlotState::Free;
    }

    /// Takes the slot, or queues for it. A semaphore that is closed, which none is, has room for everyone.
    fn poll_take(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let permit = match &mut self.state {
            SlotState::Taken { .. } => return Poll::Ready(()),
            SlotState::Free => match Arc::clone(&self.semaphore).try_acquire_owned() {
                Ok(permit) => Some(permit),
                Err(_) => {
                    let mut waiting: Pin<Box<Acquiring>> =
                        Box::pin(Arc::clone(&self.semaphore).acquire_owned());
                    let taken = waiting.as_mut().poll(context);
                    self.state = SlotState::Waiting(waiting);
                    ready!(taken).ok()
                }
            },
            SlotState::Waiting(waiting) => ready!(waiting.as_mut().poll(context)).ok(),
        };
        self.state = SlotState::Taken { _permit: permit };
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use crate::sandbox::EpochTicker;
    use wasmtime::Engine;

    fn hold(time: Duration) -> Poll<()> {
        std::thread::sleep(time);
        Poll::Ready(())
    }

    async fn in_slot(slots: &Arc<PollSlots>, share: &Arc<Semaphore>, time: Duration) {
        let mut polls = SlottedPolls::new(slots, share);
        std::future::poll_fn(|context| polls.poll(context, |_| hold(time))).await;
    }

    /// A runtime as the server's on a machine with two processors, and a ticker.
    fn server() -> (tokio::runtime::Runtime, Arc<PollSlots>, EpochTicker) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(3)
            .event_interval(2)
            .enable_all()
            .build()
            .unwrap();
        let slots = Arc::new(PollSlots::with_workers(2));
        let ticker = EpochTicker::start(&Engine::default(), Arc::clone(&slots)).unwrap();
        (runtime, slots, ticker)
    }

    #[test]
    fn polls_that_hold_their_threads_leave_one_to_others_and_a_neighbour_runs_beside_them() {
        let (runtime, slots, _ticker) = server();
        let long = Duration::from_secs(1);
        for _ in 0..6 {
            // Each is a plugin of its own.
            let (slots, share) = (Arc::clone(&slots), slots.share());
            runtime.spawn(async move { in_slot(&slots, &share, long).await });
        }
        std::thread::sleep(Duration::from_millis(50));
        let begun = Instant::now();
        let (told, tells) = mpsc::channel();
        let neighbour = (Arc::clone(&slots), slots.share());
        runtime.spawn({
            let told = told.clone();
            async move { told.send("a socket").unwrap() }
        });
        runtime.spawn(async move {
            in_slot(&neighbour.0, &neighbour.1, Duration::ZERO).await;
            told.send("a neighbour").unwrap();
        });
        let mut heard: Vec<_> = tells.iter().take(2).collect();
        let took = begun.elapsed();
        heard.sort_unstable();
        assert_eq!(heard, ["a neighbour", "a socket"]);
        assert!(took < long / 2, "{took:?}");
        runtime.shutdown_background();
    }

    #[test]
    fn a_plugin_has_no_more_polls_under_way_than_there_are_workers_for_guests() {
        let (runtime, slots, _ticker) = server();
        let (share, running) = (slots.share(), Arc::new(AtomicUsize::new(0)));
        let most = Arc::new(AtomicUsize::new(0));
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (slots, share) = (Arc::clone(&slots), Arc::clone(&share));
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                runtime.spawn(async move {
                    let mut polls = SlottedPolls::new(&slots, &share);
                    std::future::poll_fn(|context| {
                        polls.poll(context, |_| {
                            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(20));
                            running.fetch_sub(1, Ordering::SeqCst);
                            Poll::Ready(())
                        })
                    })
                    .await;
                })
            })
            .collect();
        runtime.block_on(async {
            for call in calls {
                call.await.unwrap();
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_call_that_is_dropped_while_it_waits_leaves_its_turn_to_the_next() {
        let slots = Arc::new(PollSlots::with_workers(1));
        let (share, other) = (slots.share(), slots.share());
        let (mut first, mut second) = (SlottedPolls::new(&slots, &share), SlottedPolls::new(&slots, &other));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let outer = first.poll(&mut context, |context| {
            assert_eq!(second.poll(context, |_| Poll::Ready(1)), Poll::Pending, "the slot is taken");
            assert_eq!(slots.waiting.load(Ordering::Relaxed), 1);
            Poll::Ready(2)
        });
        assert_eq!(outer, Poll::Ready(2));
        drop(second);
        assert_eq!(slots.waiting.load(Ordering::Relaxed), 0);
        assert_eq!(first.poll(&mut context, |_| Poll::Ready(3)), Poll::Ready(3));
    }

    #[test]
    fn the_ticker_sleeps_while_no_guest_runs_and_wakes_with_the_next() {
        let (runtime, slots, _ticker) = server();
        let share = slots.share();
        runtime.block_on(in_slot(&slots, &share, Duration::ZERO));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !slots.ticker.asleep.load(Ordering::SeqCst) {
            assert!(Instant::now() < deadline, "it ticks on");
            std::thread::sleep(Duration::from_millis(20));
        }
        runtime.block_on(in_slot(&slots, &share, Duration::from_millis(50)));
        assert!(!slots.ticker.asleep.load(Ordering::SeqCst));
    }
}
