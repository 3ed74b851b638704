//! Bounds the processor time of a future by adding up what its polls take.
//!
//! Fuel cannot bound time (a pointer chase is fifty times slower per unit than a loop), and wall time runs while a
//! guest sleeps. The thread's CPU clock around each poll counts only what the guest really used, whatever else the
//! machine does.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The future used more processor time than it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded;

/// A future with a budget of processor time.
#[derive(Debug)]
pub(crate) struct CpuTime<F> {
    inner: F,
    left: Duration,
}

impl<F: Future + Unpin> CpuTime<F> {
    pub(crate) fn new(inner: F, budget: Duration) -> Self {
        Self { inner, left: budget }
    }
}

impl<F: Future + Unpin> Future for CpuTime<F> {
    type Output = Result<F::Output, Exceeded>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let before = thread_time();
        let polled = Pin::new(&mut self.inner).poll(context);
        self.left = self.left.saturating_sub(thread_time().saturating_sub(before));
        // Also when it is done: the last poll may have been the one that took all the time.
        if self.left.is_zero() { Poll::Ready(Err(Exceeded)) } else { polled.map(Ok) }
    }
}

/// Processor time of this thread.
pub(super) fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn burn(time: Duration) {
        let start = thread_time();
        while thread_time() - start < time {}
    }

    #[test]
    fn only_time_spent_in_polls_counts() {
        let mut polls = 0;
        let inner = std::future::poll_fn(|_: &mut Context<'_>| -> Poll<()> {
            polls += 1;
            burn(Duration::from_millis(2));
            Poll::Pending
        });
        let mut bounded = CpuTime::new(inner, Duration::from_millis(3));
        assert_eq!((&mut bounded).now_or_never(), None);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(bounded.now_or_never(), Some(Err(Exceeded)));
        assert_eq!(polls, 2);
    }

    #[test]
    fn what_is_done_too_late_is_not_done() {
        let work = |time| std::future::poll_fn(move |_: &mut Context<'_>| Poll::Ready(burn(time)));
        let budget = Duration::from_millis(5);
        assert_eq!(CpuTime::new(work(Duration::from_millis(1)), budget).now_or_never(), Some(Ok(())));
        assert_eq!(CpuTime::new(work(budget), budget).now_or_never(), Some(Err(Exceeded)));
    }
}
