//! A value that is polled, and acted on once it has stayed the same for a moment: copying takes a while, and half a
//! file is none. The same holds for one that is gone, since many programs replace a file by deleting it first.

use std::time::Duration;

use tokio::time::Instant;

/// For how long it must stay the same.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// How it looks, and how it looked when it was last acted on. `None`: nothing is there.
#[derive(Debug)]
pub(super) struct Debounced<T> {
    seen: Option<T>,
    since: Instant,
    handled: Option<T>,
}

impl<T: Copy + PartialEq> Debounced<T> {
    /// First seen now, and never acted on.
    pub(super) fn new(seen: Option<T>, now: Instant) -> Self {
        Self { seen, since: now, handled: None }
    }

    pub(super) fn seen(&self) -> Option<T> {
        self.seen
    }

    /// Looks like this now.
    pub(super) fn observe(&mut self, seen: Option<T>, now: Instant) {
        if self.seen != seen {
            (self.seen, self.since) = (seen, now);
        }
    }

    /// Was acted on as it was when it looked like this.
    pub(super) fn handled(&mut self, seen: Option<T>) {
        self.handled = seen;
    }

    /// Moves, although it looks the same.
    pub(super) fn moved(&mut self, now: Instant) {
        self.since = now;
    }

    pub(super) fn is_handled(&self) -> bool {
        self.seen == self.handled
    }

    /// When it will have stayed the same for long enough.
    pub(super) fn stable_at(&self) -> Instant {
        self.since + SETTLE
    }

    /// Whether it is time to act.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.is_handled() && self.stable_at() <= now
    }
}
