//! Polls a guest that pauses again in its place, while no other call waits for its thread.
//!
//! A guest that pauses by fuel or in a new epoch wakes its own task and returns. tokio then queues the task again and
//! wakes another worker, which looks for work, often takes the task, and has none of its data in its caches. That can
//! take as long as the guest's work from one pause to the next. So the guest is polled again at once.
//!
//! It goes through tokio once a millisecond, and when it first pauses after it has waited for something: tokio then
//! wakes a worker, which waits for I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

/// A guest goes on without tokio for this long. So cancellation, `wall_ms` and tasks that the guest has woken are up to
/// this much later.
const TURN: Duration = Duration::from_millis(1);

/// No poll runs. A wake of the call wakes its task.
const RESTING: u8 = 0;
/// A poll runs, and nobody has woken the call since it began.
const POLLING: u8 = 1;
/// A poll runs, and the call has been woken since it began.
const WOKEN: u8 = 2;

/// The pauses of one call.
#[derive(Debug)]
pub(super) struct Pauses {
    turn: Duration,
    /// Made when the call is polled for the second time: most calls are done in their first poll.
    waker: Option<PollWaker>,
    /// Whether the call may have waited for something since it last paused.
    has_waited: bool,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { turn: TURN, waker: None, has_waited: true }
    }
}

impl Pauses {
    /// Polls a guest, and polls it again whenever it pauses and `goes_on`.
    pub(super) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        mut goes_on: impl FnMut() -> bool,
        mut guest: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Some(waker) = &self.waker else {
            let polled = guest(context);
            if polled.is_pending() {
                self.waker = Some(PollWaker::new());
            }
            return polled;
        };
        let begun = Instant::now();
        loop {
            let (polled, was_woken) = waker.poll(context.waker(), &mut guest);
            if polled.is_ready() {
                return polled;
            }
            if !was_woken {
                self.has_waited = true;
                return polled;
            }
            if std::mem::take(&mut self.has_waited) || begun.elapsed() >= self.turn || !goes_on() {
                context.waker().wake_by_ref();
                return polled;
            }
        }
    }
}

/// A waker that only notes a wake during a poll, and otherwise wakes the task.
#[derive(Debug)]
struct PollWaker {
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
    fn new() -> Self {
        let state = Arc::new(WakerState::default());
        Self { waker: Waker::from(Arc::clone(&state)), state }
    }

    /// Polls once. Returns also whether the call was woken during the poll, of which `task` then does not know.
    fn poll<T>(&self, task: &Waker, guest: &mut impl FnMut(&mut Context<'_>) -> Poll<T>) -> (Poll<T>, bool) {
        self.state.task.register(task);
        self.state.phase.store(POLLING, Ordering::SeqCst);
        let polled = guest(&mut Context::from_waker(&self.waker));
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
mod tests;
