//! Charges a guest for the work of host functions, and lets other tasks run in between.
//!
//! Wasm fuel counts only instructions, so a loop over cheap host calls would be nearly free and would rarely yield.
//! Charging the store's own fuel inside a host call would reset wasmtime's yield interval and starve other tasks
//! (`docs/decisions/0003-engine.md`). Therefore this is a second counter with the same budget and its own yields.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use super::YIELD_INTERVAL;
use super::guest_memory::HostCallMemory;
use super::thread_cpu_clock::thread_time;

/// Why a host function does no more work for a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChargeError {
    /// The host fuel of the call is used up.
    #[error("the fuel for host functions is used up")]
    Fuel,
    /// There is not enough memory for the bytes that the guest passes or that the host stores for it.
    #[error("no memory is left for what the guest hands over (setting [server] `guest_memory_mib`)")]
    Memory,
}

/// Fuel for entering a host function, which takes about 0.1 µs.
const ENTRY_FUEL: u64 = 500;

/// Fuel for each call of a WASI function.
const WASI_CALL_FUEL: u64 = 1_000;

/// The host fuel of one call. Clones share the counters.
#[derive(Debug, Clone)]
pub(crate) struct HostFuel {
    counters: Arc<FuelCounters>,
}

/// Only one task at a time works for a call, so relaxed ordering is enough.
#[derive(Debug)]
struct FuelCounters {
    budget: u64,
    spent: AtomicU64,
    since_yield: AtomicU64,
    /// Processor time of other threads that is not yet added to `cpu`, in nanoseconds.
    elsewhere: AtomicU64,
    /// Processor time of the call, in nanoseconds.
    cpu: AtomicU64,
    /// Counts the memory of transfers. A thread that still works for a cancelled call keeps it alive.
    host_call: Option<HostCallMemory>,
}

impl HostFuel {
    /// Host fuel that belongs to no instance.
    #[cfg(test)]
    pub(crate) fn new(budget: u64) -> Self {
        Self::with(budget, None)
    }

    /// Host fuel of an instance; `host_call` counts the memory of its transfers.
    pub(crate) fn of_instance(budget: u64, host_call: HostCallMemory) -> Self {
        Self::with(budget, Some(host_call))
    }

    fn with(budget: u64, host_call: Option<HostCallMemory>) -> Self {
        let (spent, since_yield, elsewhere, cpu) = Default::default();
        Self { counters: Arc::new(FuelCounters { budget, spent, since_yield, elsewhere, cpu, host_call }) }
    }

    /// Ends the call: the last transfer no longer counts.
    pub(crate) fn end(&self) {
        self.count_transfer(0);
    }

    /// Counts a transfer in place of the last one. Returns `false` if there is not enough memory for it.
    fn count_transfer(&self, bytes: usize) -> bool {
        self.counters.host_call.as_ref().is_none_or(|host_call| host_call.replace(bytes))
    }

    /// Prepares the counters for another call of the same instance, with the whole budget.
    pub(crate) fn begin_again(&self) {
        self.counters.spent.store(0, Ordering::Relaxed);
        self.counters.since_yield.store(0, Ordering::Relaxed);
        self.counters.elsewhere.store(0, Ordering::Relaxed);
        self.counters.cpu.store(0, Ordering::Relaxed);
    }

    /// Does work for the guest on this other thread, and counts its processor time as the guest's.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = thread_time();
        let done = work();
        self.counters.elsewhere.fetch_add(nanos(thread_time().saturating_sub(begun)), Ordering::Relaxed);
        done
    }

    /// Adds the processor time of a poll, and what other threads have used for the guest since the last poll. Returns
    /// the sum of both.
    pub(super) fn add_poll_time(&self, polled: Duration) -> Duration {
        let elsewhere = match self.counters.elsewhere.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.counters.elsewhere.swap(0, Ordering::Relaxed),
        };
        let total = polled.saturating_add(Duration::from_nanos(elsewhere));
        self.counters.cpu.fetch_add(nanos(total), Ordering::Relaxed);
        total
    }

    /// The processor time of the call so far.
    pub(crate) fn cpu(&self) -> Duration {
        let read = |time: &AtomicU64| Duration::from_nanos(time.load(Ordering::Relaxed));
        read(&self.counters.cpu).saturating_add(read(&self.counters.elsewhere))
    }

    /// The fuel charged so far.
    pub(crate) fn spent(&self) -> u64 {
        self.counters.spent.load(Ordering::Relaxed)
    }

    /// Charges one host call that transfers `bytes`, counts them as memory until the next charge, and yields if the
    /// interval has passed.
    pub(crate) async fn charge(&self, bytes: usize) -> Result<(), ChargeError> {
        self.charge_work(bytes, bytes).await
    }

    /// Like [`Self::charge`], for a call that transfers `bytes` but takes as much work as transferring `work` bytes.
    pub(crate) async fn charge_work(&self, work: usize, bytes: usize) -> Result<(), ChargeError> {
        self.charge_now(work)?;
        if !self.count_transfer(bytes) {
            return Err(ChargeError::Memory);
        }
        self.pause().await;
        Ok(())
    }

    /// Charges one call of a WASI function, whatever it does. The budget is checked at the guest's next pause.
    pub(crate) fn charge_call(&self) {
        self.counters.spent.fetch_add(WASI_CALL_FUEL, Ordering::Relaxed);
        self.counters.since_yield.fetch_add(WASI_CALL_FUEL, Ordering::Relaxed);
    }

    /// Whether the budget is used up.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent() > self.counters.budget
    }

    /// Charges without yielding. The caller must call [`HostFuel::pause`] afterwards.
    pub(crate) fn charge_now(&self, bytes: usize) -> Result<(), ChargeError> {
        let fuel = ENTRY_FUEL + bytes as u64 / 2;
        self.counters.since_yield.fetch_add(fuel, Ordering::Relaxed);
        let spent = self.counters.spent.fetch_add(fuel, Ordering::Relaxed).saturating_add(fuel);
        if spent > self.counters.budget { Err(ChargeError::Fuel) } else { Ok(()) }
    }

    /// Whether a whole yield interval was charged since other tasks could last run.
    pub(crate) fn wants_pause(&self) -> bool {
        self.counters.since_yield.load(Ordering::Relaxed) >= YIELD_INTERVAL
    }

    /// Lets other tasks run, if a whole yield interval was charged since the last time.
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

/// Moves the task to the end of the run queue. Tokio's own `yield_now` wakes the task only when the driver is polled,
/// which starves every other task when the event interval is short.
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
