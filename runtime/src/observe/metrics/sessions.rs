//! How many sessions are open, and how long ended sessions lasted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::histogram::Histogram;

/// The sessions of one server.
#[derive(Debug, Default)]
pub struct SessionMetrics {
    open: AtomicU64,
    durations: Histogram,
}

/// One open session. Dropping the timer records the session's duration.
#[derive(Debug)]
pub struct SessionTimer {
    metrics: Arc<SessionMetrics>,
    begun: Instant,
}

impl SessionMetrics {
    /// A session begins.
    #[must_use]
    pub fn begin(self: &Arc<Self>) -> SessionTimer {
        self.open.fetch_add(1, Ordering::Relaxed);
        SessionTimer { metrics: Arc::clone(self), begun: Instant::now() }
    }

    /// Sessions that are open.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// The durations of ended sessions.
    #[must_use]
    pub fn durations(&self) -> &Histogram {
        &self.durations
    }
}

impl Drop for SessionTimer {
    fn drop(&mut self) {
        self.metrics.open.fetch_sub(1, Ordering::Relaxed);
        self.metrics.durations.record(self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_open_until_it_is_dropped() {
        let metrics = Arc::<SessionMetrics>::default();
        let (one, other) = (metrics.begin(), metrics.begin());
        assert_eq!((metrics.open(), metrics.durations().read().count), (2, 0));
        drop(one);
        assert_eq!((metrics.open(), metrics.durations().read().count), (1, 1));
        drop(other);
        assert_eq!((metrics.open(), metrics.durations().read().count), (0, 2));
    }
}
