//! The end of a version that was replaced: its calls may go on for a while, and then they are over.
//!
//! Every call looks here, also in the common case that nothing was replaced. That costs one load of an atomic; only a call
//! that has to wait for something leaves a waker behind, so that it hears of the end at once, wherever it waits.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::Plugin;

/// Whether a plugin's time is over.
#[derive(Debug, Default)]
pub(super) struct Retirement {
    is_over: AtomicBool,
    over: Notify,
}

impl Retirement {
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
    /// Ends what still runs of a version that was replaced, with [`CallFailure::Replaced`](super::CallFailure::Replaced).
    /// No call of it can begin any more.
    pub fn retire(&self) {
        let (plugin, calls) = (self.name(), self.running());
        if self.retirement.end() && calls > 0 {
            tracing::warn!(target: "plugin", plugin, calls, "ended calls of a version that was replaced");
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
        let retirement = Arc::new(Retirement::default());
        assert_eq!(retirement.over().now_or_never(), None);
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let retirement = Arc::clone(&retirement);
                tokio::spawn(async move { retirement.over().await })
            })
            .collect();
        // They may or may not wait yet, which must make no difference.
        assert!(!retirement.is_over() && retirement.end() && !retirement.end());
        for waiting in waiting {
            waiting.await.unwrap();
        }
        assert!(retirement.is_over() && retirement.over().now_or_never().is_some());
    }
}
