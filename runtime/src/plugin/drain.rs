//! The drain of a version that was replaced: its calls may go on for a while, and then they are ended.
//!
//! Every call looks here, also in the common case that nothing was replaced. That costs one load of an atomic; only a
//! call that has to wait for something leaves a waker behind, so that it hears of the end at once, wherever it waits.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::Plugin;

/// Whether a plugin's time is over.
#[derive(Debug, Default)]
pub(super) struct Drain {
    is_over: AtomicBool,
    over: Notify,
}

impl Drain {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Waits until its time is over. Costs nothing before it is polled.
    pub(super) async fn over(&self) {
        // Waits first and looks then, or an end between the two would be missed.
        let over = self.over.notified();
        if !self.is_over() {
            over.await;
        }
    }

    /// Its time is over; whether it was not before.
    pub(super) fn end(&self) -> bool {
        let first = !self.is_over.swap(true, Ordering::SeqCst);
        self.over.notify_waiters();
        first
    }
}

impl Plugin {
    /// Ends what still runs of a version that was replaced, with [`CallError::Replaced`](super::CallError::Replaced).
    /// No call of it can begin any more.
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
