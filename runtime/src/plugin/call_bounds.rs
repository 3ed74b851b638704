//! What ends a guest's run from outside: its wall time, its processor time, its host fuel and its plugin's drain.
//!
//! A call that becomes a task meanwhile has the wall time of a task from then on, and gives its permit back: tasks have
//! limits of their own, and one that sleeps must keep no other call waiting.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use super::call_error::Interruption;
use super::drain::Drain;
use crate::call_env::TaskSwitch;
use crate::sandbox::{CpuTime, HostFuel, PermittedPolls, Suspension};

/// How long a call may take, and which limit says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimit {
    pub(super) time: Duration,
    pub(super) name: &'static str,
}

/// When a call may become a task, and how long it may then take.
pub(super) struct TaskBounds<'p> {
    pub(super) switch: &'p TaskSwitch,
    pub(super) wall: TimeLimit,
}

/// What ends a call from outside, besides host fuel.
pub(super) struct CallBounds<'p> {
    pub(super) begun: Instant,
    pub(super) wall: TimeLimit,
    pub(super) task: Option<TaskBounds<'p>>,
    pub(super) cpu: Duration,
    pub(super) drain: &'p Drain,
    pub(super) polls: PermittedPolls<'p>,
}

impl CallBounds<'_> {
    /// The wall time from now on. For a call that may become a task, the task wakes `context` when it does.
    fn wall(&mut self, suspension: &Suspension, context: &Context<'_>) -> TimeLimit {
        if let Some(task) = self.task.take_if(|task| task.switch.watch(context.waker())) {
            suspension.end_permit();
            self.wall = TimeLimit { time: self.wall.time.max(task.wall.time), name: task.wall.name };
        }
        self.wall
    }
}

/// Runs `work` until it ends, exceeds its wall time, processor time or host fuel, or its plugin's drain is over. The
/// wall clock stands still while the call is suspended. A panic of a host function ends this call only. An exceeded
/// wall time comes with the name of its limit.
pub(super) async fn bounded<T>(
    work: Pin<&mut impl Future<Output = wasmtime::Result<T>>>,
    mut bounds: CallBounds<'_>,
    suspension: &Suspension,
    host_fuel: &HostFuel,
) -> (Result<wasmtime::Result<T>, Interruption>, &'static str) {
    let drain = bounds.drain;
    let mut work = CpuTime::new(AssertUnwindSafe(work).catch_unwind(), bounds.cpu, host_fuel.clone());
    // Most calls are done when they have been polled once, and those need no timer.
    let mut end = pin!(None::<tokio::time::Sleep>);
    let mut drained = pin!(drain.over());
    let ended = poll_fn(|context| {
        let polled = bounds.polls.poll(context, |context| match work.poll_unpin(context) {
            Poll::Ready(Err(_)) => Poll::Ready(Err(Interruption::Cpu)),
            Poll::Ready(Ok(Err(_))) => Poll::Ready(Err(Interruption::Panicked)),
            Poll::Ready(Ok(Ok(ended))) => Poll::Ready(Ok(ended)),
            Poll::Pending if host_fuel.is_spent() => Poll::Ready(Err(Interruption::Fuel)),
            Poll::Pending => Poll::Pending,
        });
        if polled.is_ready() {
            return polled;
        }
        // The drain also ends suspended calls, which may wait for their clients for a long time.
        if drained.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Interruption::Replaced));
        }
        let wall = bounds.wall(suspension, context);
        if suspension.is_suspended() {
            return Poll::Pending;
        }
        let deadline = tokio::time::Instant::from_std(bounds.begun) + wall.time + suspension.suspended_for();
        if end.as_ref().as_pin_ref().is_none_or(|end| end.deadline() != deadline) {
            end.set(Some(tokio::time::sleep_until(deadline)));
        }
        // A timer says nothing while tokio's budget for this task is used up, as by a guest that reads and reads.
        if Instant::now() >= deadline.into_std() {
            return Poll::Ready(Err(Interruption::Wall));
        }
        let Some(end) = end.as_mut().as_pin_mut() else { return Poll::Pending };
        end.poll(context).map(|()| Err(Interruption::Wall))
    })
    .await;
    (ended, bounds.wall.name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::config::Limits;
    use crate::sandbox::{CallPermits, PollPermits};

    const MINUTE: TimeLimit = TimeLimit { time: Duration::from_secs(60), name: "wall_ms" };

    /// Runs something of a plugin with one permit, whose drain ends after a moment unless the call may become a task.
    async fn run<T>(
        wall: TimeLimit,
        switch: Option<&TaskSwitch>,
        work: impl AsyncFnOnce(Suspension, Arc<CallPermits>, HostFuel) -> T,
    ) -> (Result<wasmtime::Result<T>, Interruption>, &'static str) {
        let limits = Limits { concurrent_calls: 1, ..Limits::default() };
        let permits = Arc::new(CallPermits::new(&limits, Arc::new(Semaphore::new(9))));
        let permit = permits.acquire().await.unwrap();
        let (suspension, host_fuel, drain) =
            (Suspension::new(Arc::clone(&permits), permit), HostFuel::new(9), Drain::default());
        let polling = Arc::new(PollPermits::new());
        let share = polling.share();
        let polls = PermittedPolls::new(&polling, &share);
        let task =
            switch.map(|switch| TaskBounds { switch, wall: TimeLimit { name: "task_wall_ms", ..MINUTE } });
        let cpu = MINUTE.time;
        let bounds = CallBounds { begun: Instant::now(), wall, task, cpu, drain: &drain, polls };
        let work = work(suspension.clone(), permits, host_fuel.clone());
        let draining = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if switch.is_none() {
                drain.end();
            }
        };
        let work = pin!(async { Ok(work.await) });
        tokio::join!(bounded(work, bounds, &suspension, &host_fuel), draining).0
    }

    #[tokio::test]
    async fn calls_that_run_when_the_drain_is_over_end_wherever_they_wait() {
        let long = Duration::from_secs(3_600);
        let sleeping = run(MINUTE, None, async |_, _, _| tokio::time::sleep(long).await).await.0;
        assert_eq!(sleeping.unwrap_err(), Interruption::Replaced);
        let suspended = run(MINUTE, None, async |suspension, _, _| {
            suspension.suspend_while(tokio::time::sleep(long)).await
        });
        assert_eq!(suspended.await.0.unwrap_err(), Interruption::Replaced);
        assert!(
            run(MINUTE, None, async |_, _, _| 5).await.0.is_ok_and(|done| done.is_ok_and(|value| value == 5))
        );
    }

    #[tokio::test]
    async fn a_task_has_more_time_and_no_permit() {
        let brief = TimeLimit { time: Duration::from_millis(40), ..MINUTE };
        let switch = TaskSwitch::default();
        let asleep = Duration::from_millis(120);
        let (ended, name) = run(brief, Some(&switch), async |suspension, permits, _| {
            switch.switch();
            tokio::time::sleep(asleep).await;
            // Neither the task nor its return from a suspension holds the plugin's only permit.
            let permit = permits.acquire().await.unwrap();
            suspension.suspend_while(tokio::time::sleep(Duration::from_millis(1))).await;
            drop(permit);
        })
        .await;
        assert!(ended.is_ok_and(|done| done.is_ok()) && name == "task_wall_ms");
        let never = TaskSwitch::default();
        let (ended, name) = run(brief, Some(&never), async |_, _, _| tokio::time::sleep(asleep).await).await;
        assert_eq!((ended.unwrap_err(), name), (Interruption::Wall, "wall_ms"));
    }
    /// Pauses once, as a guest does by fuel.
    async fn pause() {
        let mut paused = false;
        poll_fn(|context| {
            if std::mem::replace(&mut paused, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[tokio::test]
    async fn the_fuel_for_host_functions_is_checked_at_each_pause() {
        let work = async |_, _, fuel: HostFuel| {
            // The first pauses go through tokio, and the last one does not.
            pause().await;
            pause().await;
            fuel.charge_call();
            pause().await;
        };
        assert_eq!(run(MINUTE, None, work).await.0.unwrap_err(), Interruption::Fuel);
    }

    #[tokio::test]
    async fn a_call_that_uses_up_the_budget_of_tokio_has_no_more_time() {
        let (brief, never) = (TimeLimit { time: Duration::from_millis(40), ..MINUTE }, TaskSwitch::default());
        let work = async |_, _, _| {
            loop {
                tokio::task::consume_budget().await;
            }
        };
        let run = run::<()>(brief, Some(&never), work);
        let (ended, name) = tokio::time::timeout(Duration::from_secs(20), run).await.unwrap();
        assert_eq!((ended.unwrap_err(), name), (Interruption::Wall, "wall_ms"));
    }
}
