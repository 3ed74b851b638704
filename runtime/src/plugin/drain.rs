//! The drain of a replaced version: its calls may go on for a while, and are then ended.
//!
//! Every call checks the drain, also in the common case that the version is current. The check is one load of an
//! atomic; only a call that waits for something registers a waker, so that the end of the drain wakes it at once.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::Plugin;

/// Whether the drain of a plugin has ended.
#[derive(Debug, Default)]
pub(super) struct Drain {
    is_over: AtomicBool,
    over: Notify,
}

impl Drain {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Waits for the end of the drain. Does nothing before it is polled.
    pub(super) async fn over(&self) {
        // The waiter is registered before the flag is read, so that an end in between is not missed.
        let over = self.over.notified();
        if !self.is_over() {
            over.await;
        }
    }

    /// Ends the drain; whether it had not ended before.
    pub(super) fn end(&self) -> bool {
        let first = !self.is_over.swap(true, Ordering::SeqCst);
        self.over.notify_waiters();
        first
    }
}

impl Plugin {
    /// Ends the running calls of a replaced version with [`CallError::Replaced`](super::CallError::Replaced). No call
    /// of it can begin any more.
    pub fn end_drain(&self) {
        let (plugin, calls) = (self.name(), self.running());
        if self.drain.end() && calls > 0 {
            tracing::warn!(target: "plugin", plugin, calls, "cancelled calls of a replaced version: its time to drain is over");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::sync::Arc;

    #[tokio::test]
    async fn whoever_waits_hears_of_the_end_and_whoever_comes_later_too() {
        let drain = Arc::new(Drain::default());
        assert_eq!(drain.over().now_or_never(), None);
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let drain = Arc::clone(&drain);
                tokio::spawn(async move { drain.over().await })
            })
            .collect();
        // They may or may not wait yet, which must make no difference.
        assert!(!drain.is_over() && drain.end() && !drain.end());
        for waiting in waiting {
            waiting.await.unwrap();
        }
        assert!(drain.is_over() && drain.over().now_or_never().is_some());
    }
}
