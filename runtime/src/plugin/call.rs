//! Runs one guest call under all its walls: the heart of the server.
//!
//! Take a place, make a store with its budgets, instantiate, call, look at how it ended, drop everything. The guest
//! runs on the task that called; it yields by fuel and by epochs, so dropping the returned future stops it within some
//! milliseconds. After any error or cancel the store is gone, and with it whatever state the guest was in; only where the operator
//! says so may one whose call ended well [rest](super::kept) for the next.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use wasmtime::Store;

use super::errand::{Errand, Function, Weight};
use super::failure::Interrupted;
use super::kept::Turn;
use super::retirement::Retirement;
use super::{CallFailure, GuestError, Plugin, Record};
use crate::config::{kib, mib};
use crate::host::State;
use crate::observe::{Escaped, Mask, brief};
use crate::sandbox::{CpuTime, Meter, SlottedPolls, Waiting, YIELD_INTERVAL};

/// Longest text of a guest's own error, bytes.
const ERROR_TEXT: usize = 16 << 10;

/// Longest account of a failure in the log, bytes: names in it are the guest's.
const DETAIL: usize = 8 << 10;

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Fuel of the guest and of host functions for it.
    pub fuel: u64,
    /// From its start to its end; waiting for a place or for the client does not count.
    pub elapsed: Duration,
    /// Processor time of the guest, of host functions for it and of a long check of its result, on whatever thread.
    pub cpu: Duration,
}

/// How a call ended and what it cost.
#[derive(Debug)]
pub struct Called<T> {
    /// Its result, or why there is none.
    pub outcome: Result<T, CallFailure>,
    /// What the audit will say of it, once this is dropped.
    pub record: Record,
}

/// A store in which one call runs.
struct Run<'p> {
    plugin: &'p Plugin,
    store: &'p mut Store<State>,
    waiting: Waiting,
    begun: Instant,
    /// Told what was used, however the run ends.
    record: &'p mut Record,
}

/// How long a call may take, and which limit says so.
#[derive(Debug, Clone, Copy)]
struct Wall {
    time: Duration,
    name: &'static str,
}

impl Plugin {
    /// Sends a guest on an errand, within the wall time of a call.
    pub(super) async fn serve<E: Errand>(&self, errand: E) -> Called<E::Answer> {
        self.within(Wall { time: self.config().limits.wall(), name: "wall_ms" }, errand).await
    }

    /// The same within the time for starting.
    pub(super) async fn serve_starting<E: Errand>(&self, errand: E) -> Called<E::Answer> {
        self.within(Wall { time: self.config().limits.startup(), name: "startup_ms" }, errand).await
    }

    async fn within<E: Errand>(&self, wall: Wall, errand: E) -> Called<E::Answer> {
        let job = errand.job();
        let function = job.function;
        let mut record = Record::new(&self.shared, &self.counts, &job);
        let outcome = match self.admission.check(&job) {
            Ok(()) => self.attempt(wall, errand, &mut record).await,
            Err(refused) => {
                record.refused(&self.refusals);
                Err(refused)
            }
        };
        record.ended(outcome.as_ref().map(E::weigh));
        self.learn(function, outcome.as_ref().err(), &record);
        Called { outcome, record }
    }

    async fn attempt<E: Errand>(
        &self,
        wall: Wall,
        errand: E,
        record: &mut Record,
    ) -> Result<E::Answer, CallFailure> {
        let limits = &self.config().limits;
        let Ok(permit) = self.permits.acquire().await else {
            record.refused(&self.refusals);
            return Err(CallFailure::Busy { running: limits.concurrent_calls, queued: limits.queued_calls });
        };
        // It may have waited for its place until the plugin's time was over.
        if self.retirement.is_over() {
            record.refused(&self.refusals);
            return Err(CallFailure::Replaced);
        }
        self.offload().in_place(record.bytes_noted(), || record.began(|| errand.job())).await;
        let waiting = Waiting::new(Arc::clone(&self.permits), permit);
        let turn = self.kept.as_ref().and_then(|kept| kept.turn(&errand.job()));
        let kept = turn.as_ref().and_then(Turn::take);
        if kept.is_some() {
            record.reused();
        }
        let mut store = self.store(kept, &waiting).map_err(|error| {
            let failure = CallFailure::not_begun(&error);
            self.report(&failure, &self.detail(&error));
            failure
        })?;
        let outcome = self.run(wall, errand, &mut store, waiting, record).await;
        if let (Some(turn), Ok(_) | Err(CallFailure::Guest(_))) = (turn, &outcome) {
            turn.hand_back(store);
        }
        outcome
    }

    /// A store with the budgets of one call: that of an instance that was kept, or of a fresh one.
    pub(super) fn store(
        &self,
        kept: Option<Store<State>>,
        waiting: &Waiting,
    ) -> wasmtime::Result<Store<State>> {
        let limits = &self.config().limits;
        let mut store = if let Some(mut store) = kept {
            store.data_mut().begin_again(waiting.clone());
            store
        } else {
            let mut store = Store::new(self.pre.engine(), State::new(&self.shared, waiting.clone())?);
            store.limiter(|state| &mut state.limiter);
            store.epoch_deadline_async_yield_and_update(1);
            store
        };
        store.set_hostcall_fuel(mib(limits.transfer_mib));
        store.set_max_component_handles(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        store.set_epoch_deadline(1);
        // The budget first: setting it later would reset the yield interval.
        store.set_fuel(limits.fuel)?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL))?;
        Ok(store)
    }

    async fn run<E: Errand>(
        &self,
        wall: Wall,
        errand: E,
        store: &mut Store<State>,
        waiting: Waiting,
        record: &mut Record,
    ) -> Result<E::Answer, CallFailure> {
        let (meter, served) = (store.data().meter.clone(), store.data().served);
        let run = Run { plugin: self, store, waiting, begun: Instant::now(), record };
        let walls = Walls {
            wall: wall.time,
            cpu: self.config().limits.cpu(),
            retirement: &self.retirement,
            polls: SlottedPolls::new(self.ticker.slots(), &self.poll_share),
        };
        let ended = {
            let work = pin!(errand.enter(self, run.store));
            bounded(work, walls, &run.waiting, &meter).await
        };
        if run.store.data().served != served {
            run.record.entered();
        }
        run.settle(ended, wall.name).and_then(|answer| self.check::<E>(answer))
    }

    /// Draws from how a call ended whether the plugin is to be left alone. Listing says nothing of that: a plugin can have
    /// itself listed whenever it likes. Nor does a call that ended before it came to the guest.
    pub(super) fn learn(&self, function: Function, failure: Option<&CallFailure>, record: &Record) {
        if function == Function::List {
            return;
        }
        let (plugin, quarantine) = (self.name(), &self.admission.quarantine);
        match failure {
            None | Some(CallFailure::Guest(_)) if record.has_entered() => quarantine.worked(Instant::now()),
            None | Some(CallFailure::Guest(_)) => {}
            Some(failure) if failure.is_forced() => {
                if !record.has_entered() {
                    return;
                }
                let Some(time) = quarantine.failed(Instant::now()) else { return };
                self.record_quarantine(time);
                let seconds = time.as_secs();
                tracing::warn!(target: "plugin", plugin, seconds, "is left alone because its calls keep failing");
            }
            Some(refused) if self.admission.may_tell() => {
                tracing::warn!(target: "plugin", plugin, "{refused}");
            }
            Some(_) => {}
        }
    }

    /// What is known of a failure, without secrets. They are hidden before it is cut or its lines are joined: neither half of
    /// one, nor one without the spaces around it, would be known for what it is.
    fn detail(&self, error: &wasmtime::Error) -> String {
        let mask = self.mask();
        let whole = brief(DETAIL.saturating_add(mask.longest()), format_args!("{error:?}"));
        mask.within(&whole, DETAIL).into_owned()
    }

    /// Notes for the operator why a call failed, with all that the caller is not told.
    fn report(&self, failure: &CallFailure, detail: &str) {
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (plugin, detail) = (self.name(), lines.join("; "));
        tracing::warn!(target: "plugin", plugin, detail = %Escaped(&detail), "{failure}");
    }

    fn check<E: Errand>(&self, answer: E::Answer) -> Result<E::Answer, CallFailure> {
        let limits = &self.config().limits;
        let Weight { bytes, items, .. } = E::weigh(&answer);
        if items as u64 > limits.content_items {
            return Err(CallFailure::limit(limits, "content_items"));
        }
        if bytes > kib(limits.result_kib) {
            return Err(CallFailure::limit(limits, "result_kib"));
        }
        Ok(answer)
    }
}

impl Run<'_> {
    /// Looks at how the guest's run ended, and notes it where that is not for the guest to say.
    fn settle<T>(&self, ended: Settled<T>, wall: &'static str) -> Result<T, CallFailure> {
        let limits = &self.plugin.config().limits;
        let (failure, detail) = match ended {
            Ok(Ok(Ok(value))) => return Ok(value),
            Ok(Ok(Err(error))) => return Err(CallFailure::Guest(shown(error, self.plugin.mask()))),
            Ok(Err(error)) => {
                let detail = self.plugin.detail(&error);
                (CallFailure::classify(&error, self.store.data(), limits), detail)
            }
            // Not the guest's doing, and told of once for all calls.
            Err(Interrupted::Replaced) => return Err(CallFailure::Replaced),
            Err(why) => (CallFailure::interrupted(why, limits, wall), format!("{why:?}")),
        };
        self.plugin.report(&failure, &detail);
        Err(failure)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let state = self.store.data();
        let left = self.store.get_fuel().unwrap_or_default();
        self.record.used(Usage {
            fuel: self.plugin.config().limits.fuel.saturating_sub(left).saturating_add(state.meter.spent()),
            elapsed: self.begun.elapsed().saturating_sub(self.waiting.waited()),
            cpu: state.meter.cpu(),
        });
        state.logs.close();
    }
}

/// A guest's answer or its error, unless it trapped, unless it was interrupted.
type Settled<T> = Result<wasmtime::Result<Result<T, GuestError>>, Interrupted>;

/// What ends a call from outside, besides its fuel for host functions.
struct Walls<'p> {
    wall: Duration,
    cpu: Duration,
    retirement: &'p Retirement,
    polls: SlottedPolls<'p>,
}

/// Runs `work` within its wall time, which stands still while it waits for the client, its processor time and its fuel for
/// host functions, and until its plugin is retired. A panic of the host inside it ends this call only.
async fn bounded<T>(
    work: Pin<&mut impl Future<Output = wasmtime::Result<T>>>,
    walls: Walls<'_>,
    waiting: &Waiting,
    meter: &Meter,
) -> Result<wasmtime::Result<T>, Interrupted> {
    let Walls { wall, cpu, retirement, mut polls } = walls;
    let begun = tokio::time::Instant::now();
    let mut work = CpuTime::new(AssertUnwindSafe(work).catch_unwind(), cpu, meter.clone());
    // Most calls are done when they have been polled once, and those need no timer.
    let mut end = pin!(None::<tokio::time::Sleep>);
    let mut retired = pin!(retirement.over());
    poll_fn(|context| {
        match polls.poll(context, |context| work.poll_unpin(context)) {
            Poll::Ready(Err(_)) => return Poll::Ready(Err(Interrupted::Cpu)),
            Poll::Ready(Ok(Err(_))) => return Poll::Ready(Err(Interrupted::Panicked)),
            Poll::Ready(Ok(Ok(ended))) => return Poll::Ready(Ok(ended)),
            Poll::Pending if meter.is_spent() => return Poll::Ready(Err(Interrupted::Fuel)),
            Poll::Pending => {}
        }
        // Also while it waits for the client, which may take longer than anything else.
        if retired.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Interrupted::Replaced));
        }
        if waiting.is_outside() {
            return Poll::Pending;
        }
        let deadline = begun + wall + waiting.waited();
        if end.as_ref().as_pin_ref().is_none_or(|end| end.deadline() != deadline) {
            end.set(Some(tokio::time::sleep_until(deadline)));
        }
        let Some(end) = end.as_mut().as_pin_mut() else { return Poll::Pending };
        end.poll(context).map(|()| Err(Interrupted::Wall))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::sandbox::{Permits, PollSlots};
    use tokio::sync::Semaphore;

    /// Runs something under walls that it does not hit, of a plugin that is retired after a moment.
    async fn retired<T>(work: impl AsyncFnOnce(Waiting) -> T) -> Result<wasmtime::Result<T>, Interrupted> {
        let permits = Arc::new(Permits::new(&Limits::default(), Arc::new(Semaphore::new(9))));
        let permit = permits.acquire().await.unwrap();
        let (waiting, meter, retirement) =
            (Waiting::new(permits, permit), Meter::new(9), Retirement::default());
        let minute = Duration::from_secs(60);
        let slots = Arc::new(PollSlots::new());
        let share = slots.share();
        let polls = SlottedPolls::new(&slots, &share);
        let walls = Walls { wall: minute, cpu: minute, retirement: &retirement, polls };
        let work = work(waiting.clone());
        let retiring = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            retirement.end();
        };
        let work = pin!(async { Ok(work.await) });
        tokio::join!(bounded(work, walls, &waiting, &meter), retiring).0
    }

    #[tokio::test]
    async fn what_still_runs_when_the_plugin_is_retired_is_ended_wherever_it_waits() {
        let long = Duration::from_secs(3_600);
        let napping = retired(async |_| tokio::time::sleep(long).await).await;
        assert_eq!(napping.unwrap_err(), Interrupted::Replaced);
        let asking = retired(async |waiting| waiting.outside(tokio::time::sleep(long)).await).await;
        assert_eq!(asking.unwrap_err(), Interrupted::Replaced);
        assert!(retired(async |_| 5).await.is_ok_and(|done| done.is_ok_and(|answer| answer == 5)));
    }
}
