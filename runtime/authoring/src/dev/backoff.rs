//! How soon a build may follow the one before. A file that something writes to without end, such as a log that lies in
//! the project, would keep the machine building; it gets builds that are further and further apart.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

/// What comes this soon after a build may be no person's.
const SOON: Duration = Duration::from_secs(5);

/// How many builds in a row one file may cause that soon.
const FREE: u32 = 5;

/// Longest wait, as a power of two of seconds.
const LONGEST: u32 = 6;

/// What has caused the last builds.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// The one file, if it was one.
    file: Option<PathBuf>,
    times: u32,
    /// When the last build ended; `None` while it runs.
    ended: Option<Instant>,
}

impl Backoff {
    /// A build begins.
    pub(super) fn build_started(&mut self) {
        self.ended = None;
    }

    /// It has ended.
    pub(super) fn build_ended(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// Whether these are no others than what has caused the last builds.
    pub(super) fn is_same(&self, changes: &[PathBuf]) -> bool {
        matches!(changes, [one] if self.file.as_ref() == Some(one))
    }

    /// How long to wait with the build that these changes cause.
    pub(super) fn next_delay(&mut self, changes: &[PathBuf], now: Instant) -> Duration {
        let soon = self.ended.is_none_or(|ended| now.saturating_duration_since(ended) < SOON);
        if self.is_same(changes) && soon {
            self.times = self.times.saturating_add(1);
        } else {
            self.times = 1;
            self.file = if let [one] = changes { Some(one.clone()) } else { None };
        }
        match self.times.saturating_sub(FREE) {
            0 => Duration::ZERO,
            beyond => Duration::from_secs(1 << beyond.min(LONGEST)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_for_one_file_that_never_rests_are_further_and_further_apart() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let log = [PathBuf::from("dev.log")];
        let mut next = |changes: &[PathBuf], after: Duration| {
            backoff.build_started();
            backoff.build_ended(now);
            backoff.next_delay(changes, now + after).as_secs()
        };
        let waits: Vec<_> = (0..13).map(|_| next(&log, Duration::ZERO)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!(next(&["a.rs".into()], Duration::ZERO), 0, "another file");
        let slow: Vec<_> = (0..9).map(|_| next(&log, SOON)).collect();
        assert_eq!(slow, [0; 9], "a person looks at what came of it first");
    }
}
