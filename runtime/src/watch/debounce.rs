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
    /// Whether `seen` is what was handled. This is asked of every file whenever one of them has been loaded, so it is
    /// not compared each time.
    is_handled: bool,
}

impl<T: Copy + PartialEq> Debounced<T> {
    /// A value that is seen for the first time, and was never acted on.
    pub(super) fn new(seen: Option<T>, now: Instant) -> Self {
        Self { seen, since: now, handled: None, is_handled: seen.is_none() }
    }

    pub(super) fn seen(&self) -> Option<T> {
        self.seen
    }

    /// Notes the value of a poll; a change restarts the wait.
    pub(super) fn observe(&mut self, seen: Option<T>, now: Instant) {
        if self.seen != seen {
            (self.seen, self.since) = (seen, now);
            self.is_handled = self.seen == self.handled;
        }
    }

    /// Notes that the value `seen` was acted on.
    pub(super) fn handled(&mut self, seen: Option<T>) {
        self.handled = seen;
        self.is_handled = self.seen == self.handled;
    }

    /// Restarts the wait although the value is the same.
    pub(super) fn restart_wait(&mut self, now: Instant) {
        self.since = now;
    }

    pub(super) fn is_handled(&self) -> bool {
        self.is_handled
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
