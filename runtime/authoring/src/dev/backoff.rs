//! Delays builds that one file causes again and again. A file that something writes to without end, such as a log in
//! the project, would keep the machine building; the delays grow instead.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

/// A change this soon after a build was perhaps not made by a person.
const SOON_AFTER: Duration = Duration::from_secs(5);

/// How many builds in a row one file may cause that soon without a delay.
const FREE_BUILDS: u32 = 5;

/// Longest delay, as a power of two of seconds.
const MAX_EXPONENT: u32 = 6;

/// The file that has caused the last builds, and how often.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// Set if the last build was caused by exactly one file.
    file: Option<PathBuf>,
    times: u32,
    /// When the last build ended; `None` while it runs.
    ended: Option<Instant>,
}

impl Backoff {
    /// Notes the start of a build.
    pub(super) fn build_started(&mut self) {
        self.ended = None;
    }

    /// Notes the end of a build.
    pub(super) fn build_ended(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// Whether these changes are the same single file that caused the last builds.
    pub(super) fn is_same(&self, changes: &[PathBuf]) -> bool {
        matches!(changes, [one] if self.file.as_ref() == Some(one))
    }

    /// The delay of the build that these changes cause.
    pub(super) fn next_delay(&mut self, changes: &[PathBuf], now: Instant) -> Duration {
        let soon = self.ended.is_none_or(|ended| now.saturating_duration_since(ended) < SOON_AFTER);
        if self.is_same(changes) && soon {
            self.times = self.times.saturating_add(1);
        } else {
            self.times = 1;
            self.file = if let [one] = changes { Some(one.clone()) } else { None };
        }
        match self.times.saturating_sub(FREE_BUILDS) {
            0 => Duration::ZERO,
            beyond => Duration::from_secs(1 << beyond.min(MAX_EXPONENT)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_for_one_file_that_never_stops_changing_are_further_and_further_apart() {
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
        let slow: Vec<_> = (0..9).map(|_| next(&log, SOON_AFTER)).collect();
        assert_eq!(slow, [0; 9], "the file does not change soon after the build");
    }
}
