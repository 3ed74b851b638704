//! Runs one guest call within all its limits: the heart of the server.
//!
//! Take a permit, make a store with its budgets, instantiate, call, classify how the call ended, drop everything. The
//! guest runs on the task that called and yields by fuel and by epochs, so dropping the returned future stops the guest
//! within some milliseconds. After a trap, a limit or a cancellation the store is always dropped with all state of the
//! guest. After a result or the guest's own error, the instance goes to the [pool](super::instance_pool) for a later
//! call if the plugin has `instances = "reuse"`.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::{Store, UpdateDeadline};

use super::call_bounds::{CallBounds, TaskBounds, TimeLimit, bounded};
use super::call_error::Interruption;
use super::guest_call::{CallKind, CallUsage, GuestCall, ResultSize};
use super::instance_pool::Lease;
use super::{AuditRecord, CallError, GuestError, Plugin};
use crate::call_env::{Caller, TaskSwitch};
use crate::capability::InstanceCtx;
use crate::config::{fixed_limits, kib, mib};
use crate::observe::{Escaped, Redactor, truncate};
use crate::sandbox::{PermittedPolls, Suspension, YIELD_INTERVAL};

/// Longest text of a guest's own error, bytes.
const MAX_ERROR_TEXT: usize = 16 << 10;

/// Longest detail of a failure in the log, bytes. The guest chooses names in the detail, so they may be long.
const MAX_DETAIL: usize = 8 << 10;

/// How a call ended and what it used.
#[derive(Debug)]
pub struct FinishedCall<T> {
    /// The result, or why there is none.
    pub outcome: Result<T, CallError>,
    /// The record, which is counted and written when it is dropped.
    pub record: AuditRecord,
}

/// A store in which one call runs.
struct RunningCall<'p> {
    plugin: &'p Plugin,
    store: &'p mut Store<InstanceCtx>,
    suspension: Suspension,
    begun: Instant,
    /// Gets what was used, however the run ends.
    record: &'p mut AuditRecord,
}

impl Plugin {
    /// Calls a guest within the wall time of a call.
    pub(super) async fn call_guest<E: GuestCall>(&self, call: E) -> FinishedCall<E::Output> {
        self.call_within(TimeLimit { time: self.config().limits.wall_time(), name: "wall_ms" }, call).await
    }

    /// Calls a guest within `startup_ms`, the time for starting.
    pub(super) async fn call_guest_at_startup<E: GuestCall>(&self, call: E) -> FinishedCall<E::Output> {
        self.call_within(TimeLimit { time: self.config().limits.startup_time(), name: "startup_ms" }, call)
            .await
    }

    fn task_wall(&self) -> TimeLimit {
        TimeLimit { time: self.config().limits.task_time(), name: "task_wall_ms" }
    }

    async fn call_within<E: GuestCall>(&self, wall: TimeLimit, call: E) -> FinishedCall<E::Output> {
        let info = call.info();
        let (kind, task) = (info.kind, info.task.clone());
        let mut record = self.call_log.record(&info);
        let outcome = match self.rate_gate.admit(&info) {
            Ok(()) => self.run_with_permit((wall, task.as_deref()), kind, call, &mut record).await,
            Err(rejected) => {
                record.rejected();
                Err(rejected)
            }
        };
        record.ended(outcome.as_ref().map(E::result_size));
        self.update_quarantine(kind, outcome.as_ref().err(), &record);
        FinishedCall { outcome, record }
    }

    async fn run_with_permit<E: GuestCall>(
        &self,
        time: (TimeLimit, Option<&TaskSwitch>),
        kind: CallKind,
        call: E,
        record: &mut AuditRecord,
    ) -> Result<E::Output, CallError> {
        let limits = &self.config().limits;
        let Ok(permit) = self.permits.acquire().await else {
            record.rejected();
            return Err(CallError::Busy { running: limits.concurrent_calls, queued: limits.queued_calls() });
        };
        // The plugin's drain may have ended while the call waited for its permit.
        if self.drain.is_over() {
            record.rejected();
            return Err(CallError::Replaced);
        }
        self.offload().in_place(record.arguments_work(), || record.began(|| call.arguments())).await;
        let suspension = Suspension::new(Arc::clone(&self.permits), permit);
        let lease = self.pool.as_ref().and_then(|pool| pool.lease(kind, record.caller()));
        let idle = lease.as_ref().and_then(Lease::take_idle);
        if idle.is_some() {
            record.reused();
        }
        let mut store = self.store(idle, record.caller(), &suspension).map_err(|error| {
            let failure = CallError::not_started(&error);
            self.report(&failure, &self.detail(&error));
            failure
        })?;
        store.data_mut().set_trace(record.trace());
        let outcome = self.run(time, call, &mut store, suspension, record).await;
        if let (Some(lease), Ok(_) | Err(CallError::Guest(_))) = (lease, &outcome) {
            lease.hand_back(store);
        }
        outcome
    }

    /// A store with the budgets of one call: the store of an idle instance of this caller, or a new one.
    pub(super) fn store(
        &self,
        idle: Option<Store<InstanceCtx>>,
        caller: &Caller,
        suspension: &Suspension,
    ) -> wasmtime::Result<Store<InstanceCtx>> {
        let limits = &self.config().limits;
        let mut store = if let Some(mut store) = idle {
            store.data_mut().begin_call(caller, suspension.clone());
            store
        } else {
            let mut store =
                Store::new(self.pre.engine(), InstanceCtx::new(&self.shared, caller, suspension.clone())?);
            store.limiter(|state| &mut state.limiter);
            // What `epoch_deadline_async_yield_and_update` does, without an allocation for the constant.
            store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
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
        (wall, task): (TimeLimit, Option<&TaskSwitch>),
        call: E,
        store: &mut Store<InstanceCtx>,
        suspension: Suspension,
        record: &mut AuditRecord,
    ) -> Result<E::Output, CallError> {
        let (host_fuel, served) = (store.data().host_fuel.clone(), store.data().served);
        let run = RunningCall { plugin: self, store, suspension, begun: Instant::now(), record };
        let bounds = CallBounds {
            begun: run.begun,
            wall,
            task: task.map(|switch| TaskBounds { switch, wall: self.task_wall() }),
            cpu: self.config().limits.cpu_time(),
            drain: &self.drain,
            polls: PermittedPolls::new(self.ticker.poll_permits(), &self.poll_share),
        };
        let (ended, wall) = {
            let work = pin!(call.invoke(self, run.store));
            bounded(work, bounds, &run.suspension, &host_fuel).await
        };
        if run.store.data().served != served {
            run.record.entered();
        }
        run.finish(ended, wall).and_then(|output| self.check_size::<E>(output))
    }

    /// Updates the quarantine from a call's outcome. Listings do not count, since a plugin can have itself listed
    /// whenever it likes; nor do calls that never entered the guest.
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
                quarantine.record_success(Instant::now)
            }
            None | Some(CallError::Guest(_)) => {}
            Some(failure) if failure.is_termination() => {
                if !record.has_entered() {
                    return;
                }
                let Some(time) = quarantine.record_failure(Instant::now()) else { return };
                self.call_log.record_quarantine(time);
                let seconds = time.as_secs();
                tracing::warn!(target: "plugin", plugin, seconds, "is quarantined because its calls keep failing");
            }
            Some(rejected) if self.rate_gate.should_log() => {
                tracing::warn!(target: "plugin", plugin, "{rejected}");
            }
            Some(_) => {}
        }
    }

    /// The error's detail without secrets. Secrets are redacted before the text is cut and its lines are joined: the
    /// redactor would not recognize half of a secret, nor one whose spaces have changed.
    fn detail(&self, error: &wasmtime::Error) -> String {
        let redactor = self.redactor();
        let whole = truncate(MAX_DETAIL.saturating_add(redactor.longest()), format_args!("{error:?}"));
        redactor.prefix(&whole, MAX_DETAIL).into_owned()
    }

    /// Logs for the operator why a call failed, with the detail that the caller does not get.
    fn report(&self, failure: &CallError, detail: &str) {
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (plugin, detail) = (self.name(), lines.join("; "));
        tracing::warn!(target: "plugin", plugin, detail = %Escaped(&detail), "{failure}");
    }

    fn check_size<E: GuestCall>(&self, output: E::Output) -> Result<E::Output, CallError> {
        let limits = &self.config().limits;
        let ResultSize { bytes, items, .. } = E::result_size(&output);
        if items > fixed_limits::CONTENT_ITEMS {
            return Err(CallError::limit(limits, "content_items"));
        }
        if bytes > kib(limits.result_kib) {
            return Err(CallError::limit(limits, "result_kib"));
        }
        Ok(output)
    }
}

impl RunningCall<'_> {
    /// Classifies how the guest's run ended, and logs failures that are not the guest's own error.
    fn finish<T>(&self, ended: RunResult<T>, wall: &'static str) -> Result<T, CallError> {
        let limits = &self.plugin.config().limits;
        let (failure, detail) = match ended {
            Ok(Ok(Ok(value))) => return Ok(value),
            Ok(Ok(Err(error))) => {
                return Err(CallError::Guest(cut_and_redact(error, self.plugin.redactor())));
            }
            Ok(Err(error)) => {
                let detail = self.plugin.detail(&error);
                (CallError::classify(&error, self.store.data(), limits), detail)
            }
            // Not the guest's fault; the drain logs it once for all calls.
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
        let remaining = self.store.get_fuel().unwrap_or_default();
        let wasm_fuel = self.plugin.config().limits.fuel.saturating_sub(remaining);
        self.record.used(CallUsage {
            fuel: wasm_fuel.saturating_add(state.host_fuel.spent()),
            elapsed: self.begun.elapsed().saturating_sub(self.suspension.suspended_for()),
            cpu: state.host_fuel.cpu(),
        });
        self.record.peak_memory(state.limiter.memory());
        if let Some(logs) = state.logs.get() {
            logs.close();
        }
    }
}

/// From outside in: an interruption, a trap, the guest's own error, or its output.
type RunResult<T> = Result<wasmtime::Result<Result<T, GuestError>>, Interruption>;

/// A guest's error as the client gets it: cut, and without secrets, which get into errors by accident.
fn cut_and_redact(mut error: GuestError, redactor: &Redactor) -> GuestError {
    let text = match &mut error {
        GuestError::NotFound(text)
        | GuestError::InvalidParams(text)
        | GuestError::Internal(text)
        | GuestError::MissingCapability(text)
        | GuestError::Denied(text)
        | GuestError::OverBudget(text)
        | GuestError::Rejected(text) => text,
        GuestError::Rpc(rpc) => {
            let data = rpc.data.take().filter(|data| data.len() <= MAX_ERROR_TEXT);
            rpc.data = data.map(|data| redactor.json(&data).into_owned());
            &mut rpc.message
        }
        GuestError::TimedOut | GuestError::Cancelled => return error,
    };
    *text = redactor.prefix(text, MAX_ERROR_TEXT).into_owned();
    error
}
