//! A polled value that is acted on once it has stayed the same for a moment: copying a file takes a while, and half a
//! file cannot be loaded. The same holds for a file that is gone, since many programs replace a file by deleting it
//! first.

use std::time::Duration;

use tokio::time::Instant;

/// How long a value must stay the same before it is acted on.
pub(super) const DEBOUNCE_TIME: Duration = Duration::from_millis(100);

/// A value as it was last seen and as it was last acted on. `None`: there is nothing.
#[derive(Debug)]
pub(super) struct Debounced<T> {
    seen: Option<T>,
    since: Instant,
    handled: Option<T>,
}

impl<T: Copy + PartialEq> Debounced<T> {
    /// A value that is seen for the first time, and was never acted on.
    pub(super) fn new(seen: Option<T>, now: Instant) -> Self {
        Self { seen, since: now, handled: None }
    }

    pub(super) fn seen(&self) -> Option<T> {
        self.seen
    }

    /// Notes the value of a poll; a change restarts the wait.
    pub(super) fn observe(&mut self, seen: Option<T>, now: Instant) {
        if self.seen != seen {
            (self.seen, self.since) = (seen, now);
        }
    }

    /// Notes that the value `seen` was acted on.
    pub(super) fn handled(&mut self, seen: Option<T>) {
        self.handled = seen;
    }

    /// Restarts the wait although the value is the same.
    pub(super) fn restart_wait(&mut self, now: Instant) {
        self.since = now;
    }

    pub(super) fn is_handled(&self) -> bool {
        self.seen == self.handled
    }

    /// When the value will have stayed the same for long enough.
    pub(super) fn stable_at(&self) -> Instant {
        self.since + DEBOUNCE_TIME
    }

    /// Whether it is time to act.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.is_handled() && self.stable_at() <= now
    }
}
