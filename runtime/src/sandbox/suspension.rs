//! Suspends a call while it waits for its client's response: the call's permit is returned, and its clock stands still.
//!
//! A user may take minutes to respond. Meanwhile the guest does not compute, so the permit goes to another call; after
//! the response the call queues for a permit again. The waiting host function and the clock of the call share one
//! [`Suspension`].

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::call_permits::{CallPermit, CallPermits};

/// The permit and the clock of one call. Clones belong to the same call.
#[derive(Debug, Clone)]
pub(crate) struct Suspension {
    permits: Arc<CallPermits>,
    state: Arc<Mutex<SuspensionState>>,
}

#[derive(Debug, Default)]
struct SuspensionState {
    permit: Option<CallPermit>,
    /// The call has become a task and runs on without a permit.
    needs_none: bool,
    since: Option<Instant>,
    total: Duration,
}

impl Suspension {
    /// For a call that runs with `permit`.
    pub(crate) fn new(permits: Arc<CallPermits>, permit: CallPermit) -> Self {
        let state = SuspensionState { permit: Some(permit), ..SuspensionState::default() };
        Self { permits, state: Arc::new(Mutex::new(state)) }
    }

    /// Waits for `response` with the clock stopped and the permit returned, and then acquires a permit again. If the
    /// response is available at once, the call is not suspended.
    pub(crate) async fn suspend_while<T>(&self, response: impl Future<Output = T>) -> T {
        let mut response = pin!(response);
        let first = poll_fn(|context| Poll::Ready(response.as_mut().poll(context))).await;
        if let Poll::Ready(response) = first {
            return response;
        }
        self.with(|state| {
            state.permit = None;
            state.since = Some(Instant::now());
        });
        let response = response.await;
        let needs_none = self.with(|state| state.needs_none);
        let permit = if needs_none { None } else { self.permits.reacquire().await };
        self.with(|state| {
            state.permit = permit.filter(|_| !state.needs_none);
            state.total += state.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        });
        response
    }

    /// Ends the call and returns its permit.
    pub(crate) fn end(&self) {
        self.with(|state| state.permit = None);
    }

    /// Returns the permit of a call that runs on as a task.
    pub(crate) fn end_permit(&self) {
        let permit = self.with(|state| {
            state.needs_none = true;
            state.permit.take()
        });
        drop(permit);
    }

    /// Whether the call is suspended now.
    pub(crate) fn is_suspended(&self) -> bool {
        self.with(|state| state.since.is_some())
    }

    /// How long the call was suspended in total, without a current suspension.
    pub(crate) fn suspended_for(&self) -> Duration {
        self.with(|state| state.total)
    }

    fn with<T>(&self, act: impl FnOnce(&mut SuspensionState) -> T) -> T {
        act(&mut self.state.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn a_permit_is_free_while_its_call_waits() {
        let limits = Limits { concurrent_calls: 1, ..Limits::default() };
        let permits = Arc::new(CallPermits::new(&limits, Arc::new(Semaphore::new(9))));
        let suspension = Suspension::new(Arc::clone(&permits), permits.acquire().await.unwrap());
        suspension
            .suspend_while(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(suspension.is_suspended());
                drop(permits.acquire().await.unwrap());
                tokio::time::sleep(Duration::from_millis(5)).await;
            })
            .await;
        assert!(!suspension.is_suspended());
        let waited = suspension.suspended_for();
        suspension.suspend_while(async { assert!(!suspension.is_suspended(), "nothing to wait for") }).await;
        assert_eq!(suspension.suspended_for(), waited);
        assert!(suspension.suspended_for() >= Duration::from_millis(5));
        assert!(tokio::time::timeout(Duration::from_millis(5), permits.acquire()).await.is_err());
    }
}
