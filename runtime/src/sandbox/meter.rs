//! Charges a guest for the work that host functions do on its behalf, and lets other tasks run in between.
//!
//! Wasm fuel counts instructions only, so a loop over cheap host calls would be nearly free and would seldom yield.
//! Charging the store's own fuel from inside a host call would reset wasmtime's yield interval and starve everyone
//! (`docs/decisions/0003-engine.md`), therefore this is a second counter with the same budget and its own yields.

use std::future::poll_fn;
use std::task::Poll;

use super::YIELD_INTERVAL;

/// A guest had its host functions do more than its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the fuel for host functions is used up")]
pub(crate) struct OutOfHostFuel;

/// Price of entering a host function at all: about 0.1 µs.
const ENTRY: u64 = 500;

/// The host-side fuel of one call.
#[derive(Debug)]
pub(crate) struct Meter {
    left: u64,
    since_yield: u64,
    spent: u64,
}

impl Meter {
    pub(crate) fn new(budget: u64) -> Self {
        Self { left: budget, since_yield: 0, spent: 0 }
    }

    /// Fuel charged so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Charges one host call that moves `bytes`, and yields when it is time.
    pub(crate) async fn charge(&mut self, bytes: usize) -> Result<(), OutOfHostFuel> {
        let cost = ENTRY + bytes as u64 / 2;
        self.spent = self.spent.saturating_add(cost);
        self.left = self.left.checked_sub(cost).ok_or(OutOfHostFuel)?;
        self.since_yield += cost;
        if self.since_yield >= YIELD_INTERVAL {
            self.since_yield = 0;
            yield_now().await;
        }
        Ok(())
    }
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
        let mut meter = Meter::new(3 * YIELD_INTERVAL);
        let mut pending = 0;
        for _ in 0..1_500 {
            match meter.charge(0).now_or_never() {
                None => pending += 1,
                Some(outcome) => assert_eq!(outcome, Ok(())),
            }
        }
        assert_eq!(pending, 3);
        assert_eq!(meter.charge(0).now_or_never(), Some(Err(OutOfHostFuel)));
    }
}
