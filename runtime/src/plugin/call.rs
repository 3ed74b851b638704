//! Runs one guest call under all its walls: the heart of the server.
//!
//! Take a place, make a store with its budgets, instantiate, call, look at how it ended, drop everything. The guest
//! runs on the task that called; it yields by fuel, so dropping the returned future stops it within a millisecond or
//! two. After any error or cancel the store is gone, and with it whatever state the guest was in.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use wasmtime::Store;

use super::errand::{Errand, Weight};
use super::failure::Interrupted;
use super::{CallFailure, GuestError, Plugin};
use crate::config::{kib, mib};
use crate::host::State;
use crate::observe::{Escaped, Mask};
use crate::sandbox::{CpuTime, Waiting, YIELD_INTERVAL};

/// Longest text of a guest's own error, bytes.
const ERROR_TEXT: usize = 16 << 10;

/// What a call cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Fuel of the guest and of host functions for it.
    pub fuel: u64,
    /// From its start to its end; waiting for a place or for the client does not count.
    pub elapsed: Duration,
}

/// How a call ended and what it cost.
#[derive(Debug)]
pub struct Called<T> {
    /// Its result, or why there is none.
    pub outcome: Result<T, CallFailure>,
    /// Zero when it never began.
    pub usage: Usage,
}

/// A store in which one call runs.
struct Run<'p> {
    plugin: &'p Plugin,
    store: Store<State>,
    waiting: Waiting,
    begun: Instant,
}

impl Plugin {
    /// Sends a guest on an errand in a fresh instance, within the wall time of a call.
    pub(super) async fn serve<E: Errand>(&self, function: &str, errand: E) -> Called<E::Answer> {
        self.within(function, errand, self.config().limits.wall(), "wall_ms").await
    }

    /// The same within the time for starting.
    pub(super) async fn serve_starting<E: Errand>(&self, function: &str, errand: E) -> Called<E::Answer> {
        self.within(function, errand, self.config().limits.startup(), "startup_ms").await
    }

    async fn within<E: Errand>(
        &self,
        function: &str,
        errand: E,
        wall: Duration,
        wall_name: &'static str,
    ) -> Called<E::Answer> {
        let Ok(permit) = self.permits.acquire().await else {
            return self.busy();
        };
        let waiting = Waiting::new(Arc::clone(&self.permits), permit);
        let mut run = match Run::start(self, waiting) {
            Ok(run) => run,
            Err(error) => {
                let failure = CallFailure::Host(format!("{error:#}"));
                self.report(function, &failure, &format!("{error:?}"));
                return Called { outcome: Err(failure), usage: Usage::NONE };
            }
        };
        let waiting = run.waiting.clone();
        let work = errand.enter(self, &mut run.store);
        let ended = bounded(work, wall, self.config().limits.cpu(), &waiting).await;
        let called = run.settle(ended, function, wall_name);
        let outcome = called.outcome.and_then(|answer| self.check::<E>(answer));
        Called { outcome, usage: called.usage }
    }

    /// Notes for the operator why a call failed, with all that the caller is not told.
    fn report(&self, function: &str, failure: &CallFailure, detail: &str) {
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (plugin, detail) = (self.name(), lines.join("; "));
        let detail = self.mask().text(&detail);
        tracing::warn!(target: "plugin", plugin, function, detail = %Escaped(&detail), "{failure}");
    }

    fn busy<T>(&self) -> Called<T> {
        let limits = &self.config().limits;
        let failure = CallFailure::Busy { running: limits.concurrent_calls, queued: limits.queued_calls };
        Called { outcome: Err(failure), usage: Usage::NONE }
    }

    fn check<E: Errand>(&self, answer: E::Answer) -> Result<E::Answer, CallFailure> {
        let limits = &self.config().limits;
        let Weight { bytes, items } = E::weigh(&answer);
        if items as u64 > limits.content_items {
            return Err(CallFailure::limit(limits, "content_items"));
        }
        if bytes > kib(limits.result_kib) {
            return Err(CallFailure::limit(limits, "result_kib"));
        }
        Ok(answer)
    }
}

impl Usage {
    const NONE: Self = Self { fuel: 0, elapsed: Duration::ZERO };
}

impl<'p> Run<'p> {
    fn start(plugin: &'p Plugin, waiting: Waiting) -> wasmtime::Result<Self> {
        let limits = &plugin.config().limits;
        let state = State::new(&plugin.shared, waiting.clone())?;
        let mut store = Store::new(plugin.pre.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(mib(limits.transfer_mib));
        store.set_max_component_handles(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        // The budget first: setting it later would reset the yield interval.
        store.set_fuel(limits.fuel)?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL))?;
        Ok(Self { plugin, store, waiting, begun: Instant::now() })
    }

    /// Looks at how the guest's run ended, notes it and gives up the store.
    fn settle<T>(
        self,
        ended: Result<wasmtime::Result<Result<T, GuestError>>, Interrupted>,
        function: &str,
        wall: &'static str,
    ) -> Called<T> {
        let limits = &self.plugin.config().limits;
        let state = self.store.data();
        let left = self.store.get_fuel().unwrap_or_default();
        let usage = Usage {
            fuel: limits.fuel.saturating_sub(left).saturating_add(state.meter.spent()),
            elapsed: self.begun.elapsed().saturating_sub(self.waiting.waited()),
        };
        let outcome = match ended {
            Ok(Ok(Ok(value))) => Ok(value),
            Ok(Ok(Err(error))) => Err(CallFailure::Guest(shown(error, self.plugin.mask()))),
            Ok(Err(error)) => {
                let failure = CallFailure::classify(&error, state, limits);
                self.plugin.report(function, &failure, &format!("{error:?}"));
                Err(failure)
            }
            Err(why) => {
                let failure = CallFailure::interrupted(why, limits, wall);
                self.plugin.report(function, &failure, &format!("{why:?}"));
                Err(failure)
            }
        };
        state.logs.close();
        Called { outcome, usage }
    }
}

/// Runs `work` within its wall time, which stands still while it waits for the client, and its processor time. A panic
/// of the host inside it ends this call only.
async fn bounded<T>(
    work: impl Future<Output = wasmtime::Result<T>>,
    wall: Duration,
    cpu: Duration,
    waiting: &Waiting,
) -> Result<wasmtime::Result<T>, Interrupted> {
    let begun = tokio::time::Instant::now();
    let work = pin!(AssertUnwindSafe(work).catch_unwind());
    let mut work = pin!(CpuTime::new(work, cpu));
    let mut end = pin!(tokio::time::sleep_until(begun + wall));
    poll_fn(|context| {
        match work.as_mut().poll(context) {
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Interrupted::Cpu)),
            Poll::Ready(Ok(Err(_))) => return Poll::Ready(Err(Interrupted::Panicked)),
            Poll::Ready(Ok(Ok(ended))) => return Poll::Ready(Ok(ended)),
            Poll::Pending if waiting.is_outside() => return Poll::Pending,
            Poll::Pending => {}
        }
        let deadline = begun + wall + waiting.waited();
        if end.deadline() != deadline {
            end.as_mut().reset(deadline);
        }
        end.as_mut().poll(context).map(|()| Err(Interrupted::Wall))
    })
    .await
}

/// A guest's error as others may read it: cut, since errors are read and not processed, and without secrets, which end up in
/// errors by accident.
fn shown(mut error: GuestError, mask: &Mask) -> GuestError {
    let text = match &mut error {
        GuestError::NotFound(text)
        | GuestError::InvalidParams(text)
        | GuestError::Internal(text)
        | GuestError::MissingCapability(text)
        | GuestError::Denied(text)
        | GuestError::OverBudget(text)
        | GuestError::Rejected(text) => text,
        GuestError::Rpc(rpc) => {
            let data = rpc.data.take().filter(|data| data.len() <= ERROR_TEXT);
            rpc.data = data.map(|data| mask.json(&data).into_owned());
            &mut rpc.message
        }
        GuestError::TimedOut | GuestError::Cancelled => return error,
    };
    *text = mask.within(text, ERROR_TEXT).into_owned();
    error
}
