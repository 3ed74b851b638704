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

use super::guest_pauses::GuestPauses;

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
    common: CountedSemaphore,
    /// The number of polls that run on workers.
    on_workers: AtomicUsize,
    /// The number of polls that run on additional threads.
    on_added_threads: AtomicUsize,
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
            common: CountedSemaphore::new(workers),
            on_workers: AtomicUsize::new(0),
            on_added_threads: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            ended_on_workers: AtomicU64::new(0),
            ticker: Ticker::default(),
        }
    }

    /// Makes the permits of one plugin.
    pub(crate) fn share(&self) -> CountedSemaphore {
        CountedSemaphore::new(self.workers)
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
        let queued = self.common.waiting().saturating_sub(unused);
        let is_brisk = ended_since >= BRISK_POLLS * self.workers as u64;
        if is_brisk || (on_workers < self.workers && queued == 0) {
            // As many added permits stay as polls run on additional threads: removing those would take permits from the
            // workers.
            seen.added -= self.common.semaphore.forget_permits(seen.added.saturating_sub(on_added_threads));
        } else {
            let more = queued.min(MAX_ADDED.saturating_sub(seen.added));
            self.common.semaphore.add_permits(more);
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

    /// Counts that the guest has returned. It may be polled again within the same permits.
    fn count_end(&self) {
        if self.on_worker {
            self.permits.ended_on_workers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.count_end();
        if self.on_worker {
            self.permits.on_workers.fetch_sub(1, Ordering::SeqCst);
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
    pauses: GuestPauses,
}

impl<'p> PermittedPolls<'p> {
    /// For a call of the plugin whose permits are `own`.
    pub(crate) fn new(permits: &'p PollPermits, own: &'p CountedSemaphore) -> Self {
        let (own, common) = (PollPermit::new(own), PollPermit::new(&permits.common));
        Self { permits, own, common, pauses: GuestPauses::default() }
    }

    /// Acquires the permits, and then polls `guest`. If it pauses and no call waits for one of these permits, it is
    /// polled again.
    pub(crate) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        guest: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        ready!(self.own.poll_acquire(context));
        ready!(self.common.poll_acquire(context));
        let polling = self.permits.start_poll();
        let goes_on = || {
            let nobody_waits = self.own.semaphore.waiting() == 0 && self.common.semaphore.waiting() == 0;
            if nobody_waits {
                polling.count_end();
            }
            nobody_waits
        };
        let polled = polling.run(|| self.pauses.poll(context, goes_on, guest));
        drop(polling);
        self.common.release();
        self.own.release();
        polled
    }
}

/// A semaphore that knows how many calls wait for it.
#[derive(Debug)]
pub(crate) struct CountedSemaphore {
    semaphore: Semaphore,
    waiting: AtomicUsize,
}

impl CountedSemaphore {
    fn new(permits: usize) -> Self {
        Self { semaphore: Semaphore::new(permits), waiting: AtomicUsize::new(0) }
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

type AcquireFuture<'p> = dyn Future<Output = Result<SemaphorePermit<'p>, AcquireError>> + Send + 'p;

/// A permit of a semaphore in one of three states: not requested, awaited or acquired.
struct PollPermit<'p> {
    semaphore: &'p CountedSemaphore,
    state: PermitState<'p>,
}

enum PermitState<'p> {
    Free,
    Waiting(Pin<Box<AcquireFuture<'p>>>),
    Acquired { _permit: Option<SemaphorePermit<'p>> },
}

impl<'p> PollPermit<'p> {
    fn new(semaphore: &'p CountedSemaphore) -> Self {
        Self { semaphore, state: PermitState::Free }
    }

    fn release(&mut self) {
        self.stop_waiting();
        self.state = PermitState::Free;
    }

    /// Acquires the permit, or queues for it. The semaphores are never closed; a closed one would admit every poll.
    fn poll_acquire(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let semaphore = &self.semaphore.semaphore;
        if let PermitState::Free = self.state {
            self.state = match semaphore.try_acquire() {
                Ok(permit) => PermitState::Acquired { _permit: Some(permit) },
                Err(_) => {
                    self.semaphore.waiting.fetch_add(1, Ordering::Relaxed);
                    PermitState::Waiting(Box::pin(semaphore.acquire()))
                }
            };
        }
        if let PermitState::Waiting(waiting) = &mut self.state {
            let permit = ready!(waiting.as_mut().poll(context)).ok();
            self.stop_waiting();
            self.state = PermitState::Acquired { _permit: permit };
        }
        Poll::Ready(())
    }

    fn stop_waiting(&self) {
        if let PermitState::Waiting(_) = self.state {
            self.semaphore.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for PollPermit<'_> {
    fn drop(&mut self) {
        self.stop_waiting();
    }
}

#[cfg(test)]
mod tests;
