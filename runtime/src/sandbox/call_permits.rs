//! Limits how many calls run at once: of one plugin, and of all plugins together.
//!
//! Both limits are semaphores with fewer permits than the pooling allocator has instances. So a call without a permit
//! waits or fails as busy, and a call with a permit always gets an instance. A call acquires a permit of its plugin
//! first, so that many calls of one plugin wait for each other and leave the common permits to other plugins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;

/// The permits of one plugin.
#[derive(Debug)]
pub(crate) struct CallPermits {
    own: Arc<Semaphore>,
    common: Arc<Semaphore>,
    waiting: Arc<AtomicU64>,
    queue: u64,
    max_wait: Duration,
}

/// The permit for one call. Dropping it returns it.
#[derive(Debug)]
pub(crate) struct CallPermit {
    _own: OwnedSemaphorePermit,
    _common: OwnedSemaphorePermit,
}

/// The queue is full, or no permit became free in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoCallPermit;

/// Counts one call as waiting until this is dropped.
struct QueuedCall(Arc<AtomicU64>);

impl Drop for QueuedCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CallPermits {
    pub(crate) fn new(limits: &Limits, common: Arc<Semaphore>) -> Self {
        Self {
            own: Arc::new(Semaphore::new(usize::try_from(limits.concurrent_calls).unwrap_or(1))),
            common,
            waiting: Arc::default(),
            queue: limits.queued_calls(),
            max_wait: limits.wall_time(),
        }
    }

    /// Acquires a permit. If none is free, the call waits in a bounded queue, for at most the wall time of a call.
    pub(crate) async fn acquire(&self) -> Result<CallPermit, NoCallPermit> {
        if let Some(permit) = self.try_acquire() {
            return Ok(permit);
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(NoCallPermit);
        }
        let _waiting = QueuedCall(Arc::clone(&self.waiting));
        tokio::time::timeout(self.max_wait, self.wait()).await.unwrap_or(Err(NoCallPermit))
    }

    /// Acquires a permit for a call that returned its own while it was suspended. The bound on the queue does not
    /// apply, because the call was admitted before. Returns `None` only when the server ends.
    pub(crate) async fn reacquire(&self) -> Option<CallPermit> {
        self.wait().await.ok()
    }

    /// The number of calls that wait for their first permit.
    pub(crate) fn queued(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    fn try_acquire(&self) -> Option<CallPermit> {
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        let common = Arc::clone(&self.common).try_acquire_owned().ok()?;
        Some(CallPermit { _own: own, _common: common })
    }

    async fn wait(&self) -> Result<CallPermit, NoCallPermit> {
        let own = Arc::clone(&self.own).acquire_owned().await.map_err(|_| NoCallPermit)?;
        let common = Arc::clone(&self.common).acquire_owned().await.map_err(|_| NoCallPermit)?;
        Ok(CallPermit { _own: own, _common: common })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_crowd_queues_and_then_is_rejected() {
        let limits = Limits { concurrent_calls: 1, wall_ms: 60_000, ..Limits::default() };
        let permits = Arc::new(CallPermits::new(&limits, Arc::new(Semaphore::new(9))));
        let first = permits.acquire().await.unwrap();
        let queued = (0..limits.queued_calls()).map(|_| {
            let permits = Arc::clone(&permits);
            tokio::spawn(async move { permits.acquire().await.is_ok() })
        });
        let queued: Vec<_> = queued.collect();
        while permits.waiting.load(Ordering::Relaxed) < limits.queued_calls() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(permits.acquire().await.is_err());
        drop(first);
        for queued in queued {
            assert!(queued.await.unwrap());
        }
        assert_eq!(permits.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn waiting_ends_with_patience() {
        let limits = Limits { concurrent_calls: 1, wall_ms: 1, ..Limits::default() };
        let permits = CallPermits::new(&limits, Arc::new(Semaphore::new(9)));
        let _first = permits.acquire().await.unwrap();
        assert_eq!(permits.acquire().await.err(), Some(NoCallPermit));
    }
}
