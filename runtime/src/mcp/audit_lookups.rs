//! Bounds the look-ups of hidden items for the audit.
//!
//! A client causes a look-up with a cheap request, and neither waits for it nor ends it by closing the connection. So
//! few look-ups may wait or run at the same time; the next one is skipped and counted. They have permits of their own,
//! and take none of those for messages of clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sandbox::LargeWork;

/// Look-ups of failed requests. Each takes about a millisecond, and its request is in memory until then.
const MAX_REQUESTS: usize = 64;

/// Look-ups of subscriptions. One of 1,000 URIs may take half a second if there are 1,000 templates, and nobody's quota
/// counts it, so it is one at a time.
const MAX_SUBSCRIPTIONS: usize = 1;

/// The permits of look-ups. Each kind has its own, so that subscriptions do not displace the look-ups of requests.
#[derive(Debug)]
pub(super) struct AuditLookups {
    /// For the work of look-ups of failed requests.
    pub(super) request_work: LargeWork,
    /// For that of subscriptions.
    pub(super) subscription_work: LargeWork,
    requests: Arc<Semaphore>,
    subscriptions: Arc<Semaphore>,
    skipped: AtomicU64,
}

impl AuditLookups {
    pub(super) fn new() -> Self {
        Self {
            request_work: LargeWork::new(),
            subscription_work: LargeWork::new(),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            subscriptions: Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS)),
            skipped: AtomicU64::new(0),
        }
    }

    /// Begins the look-up of a failed request, which holds the permit until it ends. `None`: it is skipped.
    pub(super) fn begin_request(&self) -> Option<OwnedSemaphorePermit> {
        self.begin(&self.requests)
    }

    /// The same for a subscription.
    pub(super) fn begin_subscription(&self) -> Option<OwnedSemaphorePermit> {
        self.begin(&self.subscriptions)
    }

    /// How many look-ups were skipped.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    fn begin(&self, permits: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(permits).try_acquire_owned().ok();
        if permit.is_none() && self.skipped.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                "look-ups of hidden items for the audit are skipped, because too many are under way; \
                 `plugport_audit_skipped_total` counts them"
            );
        }
        permit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_beyond_the_maximum_are_skipped_and_counted_and_each_kind_has_its_own() {
        let lookups = AuditLookups::new();
        let begun = lookups.begin_subscription().unwrap();
        assert!((0..5).all(|_| lookups.begin_subscription().is_none()));
        assert_eq!(lookups.skipped(), 5);
        assert!(lookups.begin_request().is_some());
        drop(begun);
        assert!(lookups.begin_subscription().is_some());
    }
}
