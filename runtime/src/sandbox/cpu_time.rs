//! Bounds the processor time of a future by adding up what its polls take.
//!
//! Fuel cannot bound time (a pointer chase is fifty times slower per unit than a loop), and wall time runs while a
//! guest sleeps. The thread's CPU clock around each poll counts only what the guest really used, whatever else the
//! machine does.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Meter;

/// The future used more processor time than it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded;

/// A future with a budget of processor time.
#[derive(Debug)]
pub(crate) struct CpuTime<F> {
    inner: F,
    left: Duration,
    meter: Meter,
}

impl<F: Future + Unpin> CpuTime<F> {
    /// A budget for `inner`, and for what other threads do for the guest with this meter.
    pub(crate) fn new(inner: F, budget: Duration, meter: Meter) -> Self {
        Self { inner, left: budget, meter }
    }
}

impl<F: Future + Unpin> Future for CpuTime<F> {
    type Output = Result<F::Output, Exceeded>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let before = thread_time();
        let polled = Pin::new(&mut self.inner).poll(context);
        let took = self.meter.polled(thread_time().saturating_sub(before));
        self.left = self.left.saturating_sub(took);
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
        let mut bounded = CpuTime::new(inner, Duration::from_millis(3), Meter::new(0));
        assert_eq!((&mut bounded).now_or_never(), None);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(bounded.now_or_never(), Some(Err(Exceeded)));
        assert_eq!(polls, 2);
    }

    #[test]
    fn what_is_done_too_late_is_not_done() {
        let budget = Duration::from_millis(5);
        let ended = |time| {
            let work = std::future::poll_fn(move |_: &mut Context<'_>| {
                burn(time);
                Poll::Ready(())
            });
            CpuTime::new(work, budget, Meter::new(0)).now_or_never()
        };
        assert_eq!(ended(Duration::from_millis(1)), Some(Ok(())));
        assert_eq!(ended(budget), Some(Err(Exceeded)));
    }

    #[test]
    fn what_other_threads_do_for_a_guest_counts() {
        let (budget, meter) = (Duration::from_millis(5), Meter::new(0));
        let elsewhere = meter.clone();
        let burning = std::thread::spawn(move || elsewhere.timed(|| burn(budget)));
        burning.join().unwrap();
        let ended = CpuTime::new(std::future::ready(()), budget, meter.clone()).now_or_never();
        assert_eq!(ended, Some(Err(Exceeded)));
        assert!((budget..2 * budget).contains(&meter.cpu()), "{:?}", meter.cpu());
        assert_eq!(CpuTime::new(std::future::ready(()), budget, meter).now_or_never(), Some(Ok(())));
    }
}
