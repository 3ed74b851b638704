//! Polls a guest again in its place when it pauses, while no call waits for a permit.
//!
//! A guest that pauses by fuel or in a new epoch wakes its own task and returns. tokio then queues the task again and
//! wakes another worker, which looks for work, often takes the task, and has none of its data in its caches. That can
//! take as long as the guest's work from one pause to the next. So the guest is polled again at once.
//!
//! It goes through tokio once in a turn, and when it first pauses after it has waited for something: tokio then
//! wakes a worker, which waits for I/O.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::self_waking::PollWaker;

/// A guest goes on without tokio for this long. So cancellation, the drain, `wall_ms` and tasks that the guest has
/// woken are up to this much later.
const TURN: Duration = Duration::from_micros(250);

/// The pauses of one call.
#[derive(Debug)]
pub(super) struct GuestPauses {
    turn: Duration,
    /// Made when the call is polled for the second time: most calls are done in their first poll.
    waker: Option<PollWaker>,
    /// Whether the call may have waited for something since it last paused.
    has_waited: bool,
}

impl Default for GuestPauses {
    fn default() -> Self {
        Self::with_turns_of(TURN)
    }
}

impl GuestPauses {
    pub(super) fn with_turns_of(turn: Duration) -> Self {
        Self { turn, waker: None, has_waited: true }
    }

    /// Polls a guest, and polls it again whenever it pauses and `goes_on`. `goes_on` is called only when nothing else
    /// ends the turn, so whenever it returns true, the guest is polled again.
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
            let (polled, woken) = waker.poll(context.waker(), &mut guest);
            if polled.is_ready() {
                return polled;
            }
            if woken.is_none() {
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

#[cfg(test)]
mod tests;
