//! Runs one guest call within all its limits: the heart of the server.
//!
//! Take a permit, make a store with its budgets, instantiate, call, classify how it ended, drop everything. The guest
//! runs on the task that called; it yields by fuel and by epochs, so dropping the returned future stops it within some
//! milliseconds. After any error or cancel the store is gone, and with it the state that the guest was in; only with
//! `instances = "reuse"` may an instance whose call ended well go to the [pool](super::instance_pool) for the next.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use wasmtime::Store;

use super::call_error::Interruption;
use super::drain::Drain;
use super::guest_call::{CallKind, CallUsage, GuestCall, ResultSize};
use super::instance_pool::Lease;
use super::{AuditRecord, CallError, GuestError, Plugin};
use crate::capability::InstanceCtx;
use crate::config::{fixed_limits, kib, mib};
use crate::observe::{Escaped, Redactor, truncate};
use crate::sandbox::{CpuTime, HostFuel, PermittedPolls, Suspension, YIELD_INTERVAL};

/// Longest text of a guest's own error, bytes.
const ERROR_TEXT: usize = 16 << 10;

/// Longest account of a failure in the log, bytes: names in it are the guest's.
const DETAIL: usize = 8 << 10;

/// How a call ended and what it cost.
#[derive(Debug)]
pub struct FinishedCall<T> {
    /// Its result, or why there is none.
    pub outcome: Result<T, CallError>,
    /// What the audit will say of it, once this is dropped.
    pub record: AuditRecord,
}

/// A store in which one call runs.
struct RunningCall<'p> {
    plugin: &'p Plugin,
    store: &'p mut Store<InstanceCtx>,
    waiting: Suspension,
    begun: Instant,
    /// Told what was used, however the run ends.
    record: &'p mut AuditRecord,
}

/// How long a call may take, and which limit says so.
#[derive(Debug, Clone, Copy)]
struct TimeLimit {
    time: Duration,
    name: &'static str,
}

impl Plugin {
    /// Calls a guest within the wall time of a call.
    pub(super) async fn call_guest<E: GuestCall>(&self, call: E) -> FinishedCall<E::Output> {
        self.within(TimeLimit { time: self.config().limits.wall_time(), name: "wall_ms" }, call).await
    }

    /// The same within the time for starting.
    pub(super) async fn call_guest_at_startup<E: GuestCall>(&self, call: E) -> FinishedCall<E::Output> {
        self.within(TimeLimit { time: self.config().limits.startup_time(), name: "startup_ms" }, call).await
    }

    async fn within<E: GuestCall>(&self, wall: TimeLimit, call: E) -> FinishedCall<E::Output> {
        let info = call.info();
        let kind = info.kind;
        let mut record = AuditRecord::new(&self.shared, &self.counters, &info);
        let outcome = match self.rate_gate.admit(&info) {
            Ok(()) => self.run_with_permit(wall, call, &mut record).await,
            Err(rejected) => {
                record.rejected(&self.rejected_calls);
                Err(rejected)
            }
        };
        record.ended(outcome.as_ref().map(E::result_size));
        self.update_quarantine(kind, outcome.as_ref().err(), &record);
        FinishedCall { outcome, record }
    }

    async fn run_with_permit<E: GuestCall>(
        &self,
        wall: TimeLimit,
        call: E,
        record: &mut AuditRecord,
    ) -> Result<E::Output, CallError> {
        let limits = &self.config().limits;
        let Ok(permit) = self.permits.acquire().await else {
            record.rejected(&self.rejected_calls);
            return Err(CallError::Busy { running: limits.concurrent_calls, queued: limits.queued_calls() });
        };
        // It may have waited for its permit until the plugin's time was over.
        if self.drain.is_over() {
            record.rejected(&self.rejected_calls);
            return Err(CallError::Replaced);
        }
        self.offload().in_place(record.bytes_noted(), || record.began(|| call.info())).await;
        let waiting = Suspension::new(Arc::clone(&self.permits), permit);
        let lease = self.pool.as_ref().and_then(|pool| pool.lease(&call.info()));
        let idle = lease.as_ref().and_then(Lease::take_idle);
        if idle.is_some() {
            record.reused();
        }
        let mut store = self.store(idle, &waiting).map_err(|error| {
            let failure = CallError::not_started(&error);
            self.report(&failure, &self.detail(&error));
            failure
        })?;
        let outcome = self.run(wall, call, &mut store, waiting, record).await;
        if let (Some(lease), Ok(_) | Err(CallError::Guest(_))) = (lease, &outcome) {
            lease.hand_back(store);
        }
        outcome
    }

    /// A store with the budgets of one call: that of an instance that was kept, or of a fresh one.
    pub(super) fn store(
        &self,
        idle: Option<Store<InstanceCtx>>,
        waiting: &Suspension,
    ) -> wasmtime::Result<Store<InstanceCtx>> {
        let limits = &self.config().limits;
        let mut store = if let Some(mut store) = idle {
            store.data_mut().begin_call(waiting.clone());
            store
        } else {
            let mut store = Store::new(self.pre.engine(), InstanceCtx::new(&self.shared, waiting.clone())?);
            store.limiter(|state| &mut state.limiter);
            store.epoch_deadline_async_yield_and_update(1);
            store
        };
        store.set_hostcall_fuel(mib(limits.transfer_mib));
        store.set_max_component_handles(fixed_limits::HANDLES as usize);
        store.set_epoch_deadline(1);
        // The budget first: setting it later would reset the yield interval.
        store.set_fuel(limits.fuel)?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL))?;
        Ok(store)
    }

    async fn run<E: GuestCall>(
        &self,
        wall: TimeLimit,
        call: E,
        store: &mut Store<InstanceCtx>,
        waiting: Suspension,
        record: &mut AuditRecord,
    ) -> Result<E::Output, CallError> {
        let (meter, served) = (store.data().meter.clone(), store.data().served);
        let run = RunningCall { plugin: self, store, waiting, begun: Instant::now(), record };
        let bounds = CallBounds {
            wall: wall.time,
            cpu: self.config().limits.cpu_time(),
            drain: &self.drain,
            polls: PermittedPolls::new(self.ticker.poll_permits(), &self.poll_share),
        };
        let ended = {
            let work = pin!(call.invoke(self, run.store));
            bounded(work, bounds, &run.waiting, &meter).await
        };
        if run.store.data().served != served {
            run.record.entered();
        }
        run.finish(ended, wall.name).and_then(|answer| self.check::<E>(answer))
    }

    /// Draws from how a call ended whether the plugin is to be left alone. Listing says nothing of that: a plugin can
    /// have itself listed whenever it likes. Nor does a call that ended before it came to the guest.
    pub(super) fn update_quarantine(
        &self,
        kind: CallKind,
        failure: Option<&CallError>,
        record: &AuditRecord,
    ) {
        if kind == CallKind::List {
            return;
        }
        let (plugin, quarantine) = (self.name(), &self.rate_gate.quarantine);
        match failure {
            None | Some(CallError::Guest(_)) if record.has_entered() => {
                quarantine.record_success(Instant::now())
            }
            None | Some(CallError::Guest(_)) => {}
            Some(failure) if failure.is_termination() => {
                if !record.has_entered() {
                    return;
                }
                let Some(time) = quarantine.record_failure(Instant::now()) else { return };
                self.record_quarantine(time);
                let seconds = time.as_secs();
                tracing::warn!(target: "plugin", plugin, seconds, "is quarantined because its calls keep failing");
            }
            Some(rejected) if self.rate_gate.should_log() => {
                tracing::warn!(target: "plugin", plugin, "{rejected}");
            }
            Some(_) => {}
        }
    }

    /// What is known of a failure, without secrets. They are hidden before it is cut or its lines are joined: neither
    /// half of one, nor one without the spaces around it, would be known for what it is.
    fn detail(&self, error: &wasmtime::Error) -> String {
        let redactor = self.redactor();
        let whole = truncate(DETAIL.saturating_add(redactor.longest()), format_args!("{error:?}"));
        redactor.prefix(&whole, DETAIL).into_owned()
    }

    /// Notes for the operator why a call failed, with all that the caller is not told.
    fn report(&self, failure: &CallError, detail: &str) {
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (plugin, detail) = (self.name(), lines.join("; "));
        tracing::warn!(target: "plugin", plugin, detail = %Escaped(&detail), "{failure}");
    }

    fn check<E: GuestCall>(&self, answer: E::Output) -> Result<E::Output, CallError> {
        let limits = &self.config().limits;
        let ResultSize { bytes, items, .. } = E::result_size(&answer);
        if items > fixed_limits::CONTENT_ITEMS {
            return Err(CallError::limit(limits, "content_items"));
        }
        if bytes > kib(limits.result_kib) {
            return Err(CallError::limit(limits, "result_kib"));
        }
        Ok(answer)
    }
}

impl RunningCall<'_> {
    /// Looks at how the guest's run ended, and notes it where that is not for the guest to say.
    fn finish<T>(&self, ended: RunResult<T>, wall: &'static str) -> Result<T, CallError> {
        let limits = &self.plugin.config().limits;
        let (failure, detail) = match ended {
            Ok(Ok(Ok(value))) => return Ok(value),
            Ok(Ok(Err(error))) => return Err(CallError::Guest(shown(error, self.plugin.redactor()))),
            Ok(Err(error)) => {
                let detail = self.plugin.detail(&error);
                (CallError::classify(&error, self.store.data(), limits), detail)
            }
            // Not the guest's doing, and told of once for all calls.
            Err(Interruption::Replaced) => return Err(CallError::Replaced),
            Err(why) => (CallError::interrupted(why, limits, wall), format!("{why:?}")),
        };
        self.plugin.report(&failure, &detail);
        Err(failure)
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let state = self.store.data();
        let left = self.store.get_fuel().unwrap_or_default();
        self.record.used(CallUsage {
            fuel: self.plugin.config().limits.fuel.saturating_sub(left).saturating_add(state.meter.spent()),
            elapsed: self.begun.elapsed().saturating_sub(self.waiting.suspended_for()),
            cpu: state.meter.cpu(),
        });
        state.logs.close();
    }
}

/// A guest's answer or its error, unless it trapped, unless it was interrupted.
type RunResult<T> = Result<wasmtime::Result<Result<T, GuestError>>, Interruption>;

/// What ends a call from outside, besides its fuel for host functions.
struct CallBounds<'p> {
    wall: Duration,
    cpu: Duration,
    drain: &'p Drain,
    polls: PermittedPolls<'p>,
}

/// Runs `work` within its wall time, which stands still while it waits for the client, its processor time and its fuel
/// for host functions, and until its plugin is retired. A panic of the host inside it ends this call only.
async fn bounded<T>(
    work: Pin<&mut impl Future<Output = wasmtime::Result<T>>>,
    bounds: CallBounds<'_>,
    waiting: &Suspension,
    meter: &HostFuel,
) -> Result<wasmtime::Result<T>, Interruption> {
    let CallBounds { wall, cpu, drain, mut polls } = bounds;
    let begun = tokio::time::Instant::now();
    let mut work = CpuTime::new(AssertUnwindSafe(work).catch_unwind(), cpu, meter.clone());
    // Most calls are done when they have been polled once, and those need no timer.
    let mut end = pin!(None::<tokio::time::Sleep>);
    let mut drained = pin!(drain.over());
    poll_fn(|context| {
        match polls.poll(context, |context| work.poll_unpin(context)) {
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Interruption::Cpu)),
            Poll::Ready(Ok(Err(_))) => return Poll::Ready(Err(Interruption::Panicked)),
            Poll::Ready(Ok(Ok(ended))) => return Poll::Ready(Ok(ended)),
            Poll::Pending if meter.is_spent() => return Poll::Ready(Err(Interruption::Fuel)),
            Poll::Pending => {}
        }
        // Also while it waits for the client, which may take longer than anything else.
        if drained.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Interruption::Replaced));
        }
        if waiting.is_suspended() {
            return Poll::Pending;
        }
        let deadline = begun + wall + waiting.suspended_for();
        if end.as_ref().as_pin_ref().is_none_or(|end| end.deadline() != deadline) {
            end.set(Some(tokio::time::sleep_until(deadline)));
        }
        let Some(end) = end.as_mut().as_pin_mut() else { return Poll::Pending };
        end.poll(context).map(|()| Err(Interruption::Wall))
    })
    .await
}

/// A guest's error as others may read it: cut, since errors are read and not processed, and without secrets, which end
/// up in errors by accident.
fn shown(mut error: GuestError, redactor: &Redactor) -> GuestError {
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
            rpc.data = data.map(|data| redactor.json(&data).into_owned());
            &mut rpc.message
        }
        GuestError::TimedOut | GuestError::Cancelled => return error,
    };
    *text = redactor.prefix(text, ERROR_TEXT).into_owned();
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::sandbox::{CallPermits, PollPermits};
    use tokio::sync::Semaphore;

    /// Runs something under limits that it does not hit, of a plugin that is retired after a moment.
    async fn drained<T>(
        work: impl AsyncFnOnce(Suspension) -> T,
    ) -> Result<wasmtime::Result<T>, Interruption> {
        let permits = Arc::new(CallPermits::new(&Limits::default(), Arc::new(Semaphore::new(9))));
        let permit = permits.acquire().await.unwrap();
        let (waiting, meter, drain) = (Suspension::new(permits, permit), HostFuel::new(9), Drain::default());
        let minute = Duration::from_secs(60);
        let permits = Arc::new(PollPermits::new());
        let share = permits.share();
        let polls = PermittedPolls::new(&permits, &share);
        let bounds = CallBounds { wall: minute, cpu: minute, drain: &drain, polls };
        let work = work(waiting.clone());
        let retiring = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            drain.end();
        };
        let work = pin!(async { Ok(work.await) });
        tokio::join!(bounded(work, bounds, &waiting, &meter), retiring).0
    }

    #[tokio::test]
    async fn what_still_runs_when_the_plugin_is_retired_is_ended_wherever_it_waits() {
        let long = Duration::from_secs(3_600);
        let napping = drained(async |_| tokio::time::sleep(long).await).await;
        assert_eq!(napping.unwrap_err(), Interruption::Replaced);
        let asking = drained(async |waiting| waiting.suspend_while(tokio::time::sleep(long)).await).await;
        assert_eq!(asking.unwrap_err(), Interruption::Replaced);
        assert!(drained(async |_| 5).await.is_ok_and(|done| done.is_ok_and(|answer| answer == 5)));
    }
}
