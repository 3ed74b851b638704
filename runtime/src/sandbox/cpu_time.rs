//! Bounds the processor time of a future: adds up the processor time of its polls.
//!
//! Fuel cannot bound time, because a pointer chase takes fifty times as long for each unit as a loop. Wall time cannot
//! either, because it passes while a guest sleeps. The thread's CPU clock around each poll counts exactly what the
//! guest used, whatever else the machine does. Reading that clock is a system call of half a microsecond. So a short
//! first poll counts with its wall time instead, which is never less and is read in user space; then the CPU clock is
//! read only once a millisecond.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::HostFuel;
use super::thread_cpu_clock::thread_time;

/// A first poll that takes less than this counts with its wall time.
const BRIEF: Duration = Duration::from_micros(200);

/// How old a reading of the thread's CPU clock may be to serve as the beginning of a call. So the measured time of a
/// call may be too long by this much, once.
const RECENT: Duration = Duration::from_millis(1);

/// The future used more processor time than its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuTimeExceeded;

/// A future with a budget of processor time.
#[derive(Debug)]
pub(crate) struct CpuTime<F> {
    inner: F,
    remaining: Duration,
    fuel: HostFuel,
    is_first: bool,
}

impl<F: Future + Unpin> CpuTime<F> {
    /// Limits `inner` to `budget`, together with the work of other threads that `fuel` counts.
    pub(crate) fn new(inner: F, budget: Duration, fuel: HostFuel) -> Self {
        Self { inner, remaining: budget, fuel, is_first: true }
    }
}

impl<F: Future + Unpin> Future for CpuTime<F> {
    type Output = Result<F::Output, CpuTimeExceeded>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let begun = Instant::now();
        let is_first = std::mem::take(&mut self.is_first);
        let before = if is_first { recent_thread_time(begun) } else { thread_time() };
        let polled = Pin::new(&mut self.inner).poll(context);
        let passed = begun.elapsed();
        let computed = if is_first && passed < BRIEF {
            passed
        } else {
            thread_time().saturating_sub(before).min(passed)
        };
        let used = self.fuel.add_poll_time(computed);
        self.remaining = self.remaining.saturating_sub(used);
        // Even if the future is ready: its last poll may have exceeded the budget.
        if self.remaining.is_zero() { Poll::Ready(Err(CpuTimeExceeded)) } else { polled.map(Ok) }
    }
}

/// Returns the processor time of this thread at `now`, or up to [`RECENT`] before.
fn recent_thread_time(now: Instant) -> Duration {
    thread_local! { static READ: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) }; }
    match READ.get() {
        Some((at, time)) if now.saturating_duration_since(at) < RECENT => time,
        _ => {
            let time = thread_time();
            READ.set(Some((now, time)));
            time
        }
    }
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
        let mut bounded = CpuTime::new(inner, Duration::from_millis(3), HostFuel::new(0));
        assert_eq!((&mut bounded).now_or_never(), None);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(bounded.now_or_never(), Some(Err(CpuTimeExceeded)));
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
            CpuTime::new(work, budget, HostFuel::new(0)).now_or_never()
        };
        assert_eq!(ended(Duration::from_millis(1)), Some(Ok(())));
        assert_eq!(ended(budget), Some(Err(CpuTimeExceeded)));
    }

    #[test]
    fn brief_polls_add_up() {
        let (budget, fuel) = (Duration::from_millis(5), HostFuel::new(0));
        let mut polls = 0;
        let inner = std::future::poll_fn(|_: &mut Context<'_>| -> Poll<()> {
            polls += 1;
            burn(BRIEF / 2);
            Poll::Pending
        });
        let mut bounded = CpuTime::new(inner, budget, fuel.clone());
        let ended = (0..1_000).find_map(|_| (&mut bounded).now_or_never());
        assert_eq!(ended, Some(Err(CpuTimeExceeded)));
        assert!((10..=50).contains(&polls), "{polls} polls");
        assert!((budget..2 * budget).contains(&fuel.cpu()), "{:?}", fuel.cpu());
    }

    #[test]
    fn what_other_threads_do_for_a_guest_counts() {
        let (budget, fuel) = (Duration::from_millis(5), HostFuel::new(0));
        let elsewhere = fuel.clone();
        let burning = std::thread::spawn(move || elsewhere.timed(|| burn(budget)));
        burning.join().unwrap();
        let ended = CpuTime::new(std::future::ready(()), budget, fuel.clone()).now_or_never();
        assert_eq!(ended, Some(Err(CpuTimeExceeded)));
        assert!((budget..2 * budget).contains(&fuel.cpu()), "{:?}", fuel.cpu());
        assert_eq!(CpuTime::new(std::future::ready(()), budget, fuel).now_or_never(), Some(Ok(())));
    }
}
