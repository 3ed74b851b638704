//! Charges a guest for the work that host functions do on its behalf, and lets other tasks run in between.
//!
//! Wasm fuel counts instructions only, so a loop over cheap host calls would be nearly free and would seldom yield.
//! Charging the store's own fuel from inside a host call would reset wasmtime's yield interval and starve everyone
//! (`docs/decisions/0003-engine.md`), therefore this is a second counter with the same budget and its own yields.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use super::YIELD_INTERVAL;
use super::guest_memory::HostCallMemory;
use super::thread_time::thread_time;

/// Why a host function does nothing more for a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChargeError {
    /// The guest had its host functions do more than its budget.
    #[error("the fuel for host functions is used up")]
    Fuel,
    /// What the guest hands over, or has the host keep, has no room beside what all have.
    #[error("no memory is left for what the guest hands over (setting [server] `guest_memory_mib`)")]
    Memory,
}

/// Price of entering a host function at all: about 0.1 µs.
const ENTRY: u64 = 500;

/// Price of a function of WASI.
const WASI: u64 = 1_000;

/// The host-side fuel of one call. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct HostFuel {
    counters: Arc<FuelCounters>,
}

/// Only one task at a time works for a call, so the counters need no order among themselves.
#[derive(Debug)]
struct FuelCounters {
    budget: u64,
    spent: AtomicU64,
    since_yield: AtomicU64,
    /// Processor time of other threads that nobody has taken account of yet, nanoseconds.
    elsewhere: AtomicU64,
    /// Processor time of the call that was taken account of, nanoseconds.
    cpu: AtomicU64,
    /// Where values are counted that host functions work on; a thread that works for a cancelled call still has one.
    host_call: Option<HostCallMemory>,
}

impl HostFuel {
    /// A meter for nobody's instance.
    #[cfg(test)]
    pub(crate) fn new(budget: u64) -> Self {
        Self::with(budget, None)
    }

    /// A meter for an instance, whose account of memory has what it hands over.
    pub(crate) fn of_instance(budget: u64, host_call: HostCallMemory) -> Self {
        Self::with(budget, Some(host_call))
    }

    fn with(budget: u64, host_call: Option<HostCallMemory>) -> Self {
        let (spent, since_yield, elsewhere, cpu) = Default::default();
        Self { counters: Arc::new(FuelCounters { budget, spent, since_yield, elsewhere, cpu, host_call }) }
    }

    /// The call is over: nothing is handed over any more.
    pub(crate) fn end(&self) {
        self.count_transfer(0);
    }

    /// Counts what is handed over now, in place of what was before. `false`: there is no memory for it.
    fn count_transfer(&self, bytes: usize) -> bool {
        self.counters.host_call.as_ref().is_none_or(|host_call| host_call.replace(bytes))
    }

    /// For another call of the same instance, with the whole budget.
    pub(crate) fn begin_again(&self) {
        self.counters.spent.store(0, Ordering::Relaxed);
        self.counters.since_yield.store(0, Ordering::Relaxed);
        self.counters.elsewhere.store(0, Ordering::Relaxed);
        self.counters.cpu.store(0, Ordering::Relaxed);
    }

    /// Does work for the guest on a thread of its own, whose processor time counts as the guest's.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = thread_time();
        let done = work();
        self.counters.elsewhere.fetch_add(nanos(thread_time().saturating_sub(begun)), Ordering::Relaxed);
        done
    }

    /// Takes account of the processor time of a poll: that, and what other threads have used for the guest meanwhile.
    pub(super) fn add_poll_time(&self, polled: Duration) -> Duration {
        let elsewhere = match self.counters.elsewhere.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.counters.elsewhere.swap(0, Ordering::Relaxed),
        };
        let took = polled.saturating_add(Duration::from_nanos(elsewhere));
        self.counters.cpu.fetch_add(nanos(took), Ordering::Relaxed);
        took
    }

    /// Processor time of the call so far.
    pub(crate) fn cpu(&self) -> Duration {
        let of = |time: &AtomicU64| Duration::from_nanos(time.load(Ordering::Relaxed));
        of(&self.counters.cpu).saturating_add(of(&self.counters.elsewhere))
    }

    /// Fuel charged so far.
    pub(crate) fn spent(&self) -> u64 {
        self.counters.spent.load(Ordering::Relaxed)
    }

    /// Charges one host call that moves `bytes`, counts them as memory until the next one is charged, and yields when
    /// it is time.
    pub(crate) async fn charge(&self, bytes: usize) -> Result<(), ChargeError> {
        self.charge_work(bytes, bytes).await
    }

    /// The same for work that costs as much as moving `price` bytes, while it moves `bytes`.
    pub(crate) async fn charge_work(&self, price: usize, bytes: usize) -> Result<(), ChargeError> {
        self.charge_now(price)?;
        if !self.count_transfer(bytes) {
            return Err(ChargeError::Memory);
        }
        self.pause().await;
        Ok(())
    }

    /// Charges a function of WASI, of which nothing is known but that it was called. Whether the budget is spent is
    /// looked at when the guest next pauses.
    pub(crate) fn charge_call(&self) {
        self.counters.spent.fetch_add(WASI, Ordering::Relaxed);
        self.counters.since_yield.fetch_add(WASI, Ordering::Relaxed);
    }

    /// Whether the budget is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent() > self.counters.budget
    }

    /// Charges where nothing can wait; [`HostFuel::pause`] has to follow.
    pub(crate) fn charge_now(&self, bytes: usize) -> Result<(), ChargeError> {
        let cost = ENTRY + bytes as u64 / 2;
        self.counters.since_yield.fetch_add(cost, Ordering::Relaxed);
        let spent = self.counters.spent.fetch_add(cost, Ordering::Relaxed).saturating_add(cost);
        if spent > self.counters.budget { Err(ChargeError::Fuel) } else { Ok(()) }
    }

    /// Whether so much was charged since others could last run that they should.
    pub(crate) fn wants_pause(&self) -> bool {
        self.counters.since_yield.load(Ordering::Relaxed) >= YIELD_INTERVAL
    }

    /// Lets other tasks run if much was charged since it last did.
    pub(crate) async fn pause(&self) {
        if self.wants_pause() {
            self.counters.since_yield.store(0, Ordering::Relaxed);
            yield_now().await;
        }
    }
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Goes to the end of the run queue. Not tokio's own `yield_now`: it defers the wake-up to the driver's turn, which
/// starves every other task when the event interval is short.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn a_budget_ends_and_work_yields_on_the_way() {
        let fuel = HostFuel::new(3 * YIELD_INTERVAL);
        let mut pending = 0;
        for _ in 0..1_500 {
            match fuel.charge(0).now_or_never() {
                None => pending += 1,
                Some(outcome) => assert_eq!(outcome, Ok(())),
            }
        }
        assert_eq!(pending, 3);
        assert_eq!(fuel.charge(0).now_or_never(), Some(Err(ChargeError::Fuel)));
        let twin = fuel.clone();
        fuel.begin_again();
        assert_eq!((twin.spent(), twin.charge_now(0)), (0, Ok(())));
    }
}
