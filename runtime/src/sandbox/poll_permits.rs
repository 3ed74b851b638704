//! Limits which threads guests may occupy: never the last worker of the async runtime.
//!
//! A guest's own code pauses by fuel and by epochs. But a function of the engine or of a library that works for a guest
//! does not pause, and its thread runs no other task until the function returns. So each poll of a guest needs a
//! permit, and there is one permit fewer than workers: HTTP, cancellation and signals always have a thread. Polls queue
//! for permits. If few polls end on the workers although others wait, the [ticker](super::epoch_ticker) adds permits.
//! Polls with added permits run on additional threads (`block_in_place`), among which the kernel divides the
//! processors. However many calls a plugin has, its concurrent polls are limited to the number of workers for guests.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::thread::Thread;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

use super::yields::Yields;

/// Maximum number of permits that the ticker adds. Each needs a thread while it is used.
const MAX_ADDED: usize = 256;

/// If fewer polls than this end on each worker in one tick, some polls take so long that guests that pause by fuel get
/// only a small part of the time. If all guests pause by fuel, about a hundred polls end in a tick.
const BRISK_POLLS: u64 = 8;

/// The number of worker threads of the async runtime: one for each processor, which guests may occupy, and one that
/// they may not.
#[must_use]
pub fn worker_threads() -> usize {
    guest_workers() + 1
}

fn guest_workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The permits of all guests of a process.
#[derive(Debug)]
pub(crate) struct PollPermits {
    /// The number of workers that guests may occupy.
    workers: usize,
    common: Semaphore,
    /// The number of polls that run on workers.
    on_workers: AtomicUsize,
    /// The number of polls that run on additional threads.
    on_added_threads: AtomicUsize,
    /// The number of polls that wait for a common permit.
    waiting: AtomicUsize,
    begun: AtomicU64,
    ended_on_workers: AtomicU64,
    ticker: Ticker,
}

/// The ticking thread, and whether it sleeps until a poll begins.
#[derive(Debug, Default)]
struct Ticker {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

/// The counts at the last tick, and the number of added permits.
#[derive(Debug, Default)]
pub(super) struct Seen {
    begun: u64,
    ended_on_workers: u64,
    added: usize,
}

impl PollPermits {
    pub(crate) fn new() -> Self {
        Self::with_workers(guest_workers())
    }

    fn with_workers(workers: usize) -> Self {
        Self {
            workers,
            common: Semaphore::new(workers),
            on_workers: AtomicUsize::new(0),
            on_added_threads: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            ended_on_workers: AtomicU64::new(0),
            ticker: Ticker::default(),
        }
    }

    /// Makes the permits of one plugin.
    pub(crate) fn share(&self) -> Semaphore {
        Semaphore::new(self.workers)
    }

    /// Called at each tick. Adds permits while few polls end on the workers and others wait; removes added permits that
    /// no poll on an additional thread uses. Returns whether polls run on the workers and none of them has ended since
    /// the last tick.
    pub(super) fn on_tick(&self, seen: &mut Seen) -> bool {
        let ended = self.ended_on_workers.load(Ordering::Relaxed);
        let ended_since = ended.wrapping_sub(seen.ended_on_workers);
        let on_workers = self.on_workers.load(Ordering::SeqCst);
        let on_added_threads = self.on_added_threads.load(Ordering::SeqCst);
        // A task that has acquired a permit uses it only when it is polled, and it may be behind many other tasks in a
        // worker's queue.
        let unused = (self.workers + seen.added).saturating_sub(on_workers + on_added_threads);
        let queued = self.waiting.load(Ordering::Relaxed).saturating_sub(unused);
        let is_brisk = ended_since >= BRISK_POLLS * self.workers as u64;
        if is_brisk || (on_workers < self.workers && queued == 0) {
            // As many added permits stay as polls run on additional threads: removing those would take permits from the
            // workers.
            seen.added -= self.common.forget_permits(seen.added.saturating_sub(on_added_threads));
        } else {
            let more = queued.min(MAX_ADDED.saturating_sub(seen.added));
            self.common.add_permits(more);
            seen.added += more;
        }
        seen.begun = self.begun.load(Ordering::Relaxed);
        seen.ended_on_workers = ended;
        ended_since == 0 && on_workers > 0
    }

    /// Whether no guest is being polled, and none was polled since the last tick.
    pub(super) fn is_idle(&self, seen: &Seen) -> bool {
        self.begun.load(Ordering::SeqCst) == seen.begun
            && self.on_workers.load(Ordering::SeqCst) == 0
            && self.on_added_threads.load(Ordering::SeqCst) == 0
    }

    /// Sets the ticking thread.
    pub(super) fn set_ticker(&self, thread: Thread) {
        // These permits have only one ticker, so this is called only once.
        let _ = self.ticker.thread.set(thread);
    }

    /// The ticking thread calls this to sleep until a poll begins or it is woken. It does not sleep while a poll runs,
    /// because that poll may have begun before `asleep` was set, and then did not wake the ticker.
    pub(super) fn sleep_while_idle(&self, seen: &Seen) {
        self.ticker.asleep.store(true, Ordering::SeqCst);
        if self.is_idle(seen) {
            std::thread::park();
        }
        self.ticker.asleep.store(false, Ordering::SeqCst);
    }

    fn wake_ticker(&self) {
        if let Some(thread) = self.ticker.thread.get() {
            thread.unpark();
        }
    }

    fn start_poll(&self) -> Polling<'_> {
        // The poll is counted as running before `begun` counts it. So either the ticker sees the poll, or the poll sees
        // that the ticker is asleep.
        let on_worker = self.on_workers.fetch_add(1, Ordering::SeqCst) < self.workers;
        if !on_worker {
            self.on_added_threads.fetch_add(1, Ordering::SeqCst);
            self.on_workers.fetch_sub(1, Ordering::SeqCst);
        }
        self.begun.fetch_add(1, Ordering::SeqCst);
        if self.ticker.asleep.load(Ordering::SeqCst) {
            self.wake_ticker();
        }
        Polling { permits: self, on_worker }
    }
}

/// A running poll.
struct Polling<'s> {
    permits: &'s PollPermits,
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
            self.permits.on_workers.fetch_sub(1, Ordering::SeqCst);
            self.permits.ended_on_workers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.permits.on_added_threads.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Whether another thread can take over the tasks of this worker.
fn can_leave_worker() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// The polls of one call. Each needs a permit of its plugin and a common one.
pub(crate) struct PermittedPolls<'p> {
    permits: &'p PollPermits,
    own: PollPermit<'p>,
    common: PollPermit<'p>,
    yields: Yields,
}

impl<'p> PermittedPolls<'p> {
    /// For a call of the plugin whose permits are `own`.
    pub(crate) fn new(permits: &'p PollPermits, own: &'p Semaphore) -> Self {
        let (own, common) = (PollPermit::new(own), PollPermit::new(&permits.common));
        Self { permits, own, common, yields: Yields::default() }
    }

    /// Acquires the permits, and then runs `poll`: again and again while it yields and nobody waits for a common permit.
    pub(crate) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        ready!(self.own.poll_acquire(context));
        let was_waiting = self.common.is_waiting();
        let acquired = self.common.poll_acquire(context);
        match (was_waiting, acquired.is_ready()) {
            (false, false) => _ = self.permits.waiting.fetch_add(1, Ordering::Relaxed),
            (true, true) => _ = self.permits.waiting.fetch_sub(1, Ordering::Relaxed),
            (false, true) | (true, false) => {}
        }
        ready!(acquired);
        let polling = self.permits.start_poll();
        let nobody_waits = || self.permits.waiting.load(Ordering::Relaxed) == 0;
        let polled = polling.run(|| self.yields.poll(context, nobody_waits, poll));
        drop(polling);
        self.common.release();
        self.own.release();
        polled
    }
}

impl Drop for PermittedPolls<'_> {
    fn drop(&mut self) {
        if self.common.is_waiting() {
            self.permits.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

type AcquireFuture<'p> = dyn Future<Output = Result<SemaphorePermit<'p>, AcquireError>> + Send + 'p;

/// A permit of a semaphore in one of three states: not requested, awaited or acquired.
struct PollPermit<'p> {
    semaphore: &'p Semaphore,
    state: PermitState<'p>,
}

enum PermitState<'p> {
    Free,
    Waiting(Pin<Box<AcquireFuture<'p>>>),
    Acquired { _permit: Option<SemaphorePermit<'p>> },
}

impl<'p> PollPermit<'p> {
    fn new(semaphore: &'p Semaphore) -> Self {
        Self { semaphore, state: PermitState::Free }
    }

    fn is_waiting(&self) -> bool {
        matches!(self.state, PermitState::Waiting(_))
    }

    fn release(&mut self) {
        self.state = PermitState::Free;
    }

    /// Acquires the permit, or queues for it. The semaphores are never closed; a closed one would admit every poll.
    fn poll_acquire(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let permit = match &mut self.state {
            PermitState::Acquired { .. } => return Poll::Ready(()),
            PermitState::Free => match self.semaphore.try_acquire() {
                Ok(permit) => Some(permit),
                Err(_) => {
                    let mut waiting: Pin<Box<AcquireFuture<'p>>> = Box::pin(self.semaphore.acquire());
                    let acquired = waiting.as_mut().poll(context);
                    self.state = PermitState::Waiting(waiting);
                    ready!(acquired).ok()
                }
            },
            PermitState::Waiting(waiting) => ready!(waiting.as_mut().poll(context)).ok(),
        };
        self.state = PermitState::Acquired { _permit: permit };
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests;
