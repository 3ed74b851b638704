//! Charges a guest for the work that host functions do on its behalf, and lets other tasks run in between.
//!
//! Wasm fuel counts instructions only, so a loop over cheap host calls would be nearly free and would seldom yield.
//! Charging the store's own fuel from inside a host call would reset wasmtime's yield interval and starve other tasks
//! (`docs/decisions/0003-engine.md`), therefore this is a second counter with the same budget and its own yields.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use super::YIELD_INTERVAL;
use super::guest_memory::HostCallMemory;
use super::thread_cpu_clock::thread_time;

/// Why a host function does nothing more for a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChargeError {
    /// The host fuel of the call is used up.
    #[error("the fuel for host functions is used up")]
    Fuel,
    /// There is no memory for what the guest hands over or has the host store.
    #[error("no memory is left for what the guest hands over (setting [server] `guest_memory_mib`)")]
    Memory,
}

/// Fuel for entering a host function: about 0.1 µs.
const ENTRY: u64 = 500;

/// Fuel for a function of WASI.
const WASI: u64 = 1_000;

/// The host fuel of one call. Clones share it.
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
    /// Processor time of other threads that is not yet in `cpu`, nanoseconds.
    elsewhere: AtomicU64,
    /// Processor time of the call, nanoseconds.
    cpu: AtomicU64,
    /// Counts the memory of transfers; a thread that works for a cancelled call still has it.
    host_call: Option<HostCallMemory>,
}

impl HostFuel {
    /// Host fuel without an instance.
    #[cfg(test)]
    pub(crate) fn new(budget: u64) -> Self {
        Self::with(budget, None)
    }

    /// Host fuel for an instance; `host_call` counts the memory of its transfers.
    pub(crate) fn of_instance(budget: u64, host_call: HostCallMemory) -> Self {
        Self::with(budget, Some(host_call))
    }

    fn with(budget: u64, host_call: Option<HostCallMemory>) -> Self {
        let (spent, since_yield, elsewhere, cpu) = Default::default();
        Self { counters: Arc::new(FuelCounters { budget, spent, since_yield, elsewhere, cpu, host_call }) }
    }

    /// Ends the call: no transfer counts any more.
    pub(crate) fn end(&self) {
        self.count_transfer(0);
    }

    /// Counts a transfer instead of the last one. `false`: there is no memory for it.
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

    /// Does work for the guest on another thread, and counts its processor time as the guest's.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = thread_time();
        let done = work();
        self.counters.elsewhere.fetch_add(nanos(thread_time().saturating_sub(begun)), Ordering::Relaxed);
        done
    }

    /// Adds the processor time of a poll, and what other threads have used for the guest since. Gives the sum.
    pub(super) fn add_poll_time(&self, polled: Duration) -> Duration {
        let elsewhere = match self.counters.elsewhere.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.counters.elsewhere.swap(0, Ordering::Relaxed),
        };
        let total = polled.saturating_add(Duration::from_nanos(elsewhere));
        self.counters.cpu.fetch_add(nanos(total), Ordering::Relaxed);
        total
    }

    /// Processor time of the call so far.
    pub(crate) fn cpu(&self) -> Duration {
        let read = |time: &AtomicU64| Duration::from_nanos(time.load(Ordering::Relaxed));
        read(&self.counters.cpu).saturating_add(read(&self.counters.elsewhere))
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

    /// The same for work that is charged like moving `work` bytes and moves `bytes`.
    pub(crate) async fn charge_work(&self, work: usize, bytes: usize) -> Result<(), ChargeError> {
        self.charge_now(work)?;
        if !self.count_transfer(bytes) {
            return Err(ChargeError::Memory);
        }
        self.pause().await;
        Ok(())
    }

    /// Charges one call of a function of WASI, whatever it does. The budget is checked when the guest next pauses.
    pub(crate) fn charge_call(&self) {
        self.counters.spent.fetch_add(WASI, Ordering::Relaxed);
        self.counters.since_yield.fetch_add(WASI, Ordering::Relaxed);
    }

    /// Whether the budget is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent() > self.counters.budget
    }

    /// Charges without yielding; [`HostFuel::pause`] has to follow.
    pub(crate) fn charge_now(&self, bytes: usize) -> Result<(), ChargeError> {
        let fuel = ENTRY + bytes as u64 / 2;
        self.counters.since_yield.fetch_add(fuel, Ordering::Relaxed);
        let spent = self.counters.spent.fetch_add(fuel, Ordering::Relaxed).saturating_add(fuel);
        if spent > self.counters.budget { Err(ChargeError::Fuel) } else { Ok(()) }
    }

    /// Whether a yield interval was charged since other tasks could last run.
    pub(crate) fn wants_pause(&self) -> bool {
        self.counters.since_yield.load(Ordering::Relaxed) >= YIELD_INTERVAL
    }

    /// Lets other tasks run, if a yield interval was charged since the last time.
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

/// Goes to the end of the run queue. Tokio's own `yield_now` wakes the task only when the driver is polled, which
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
