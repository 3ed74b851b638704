//! The quarantine: a plugin whose calls keep failing is not called for a while, and for longer each time.
//!
//! Only consecutive failures count. So one caller with bad arguments cannot put a plugin into quarantine while calls of
//! others succeed, but the only caller of a plugin can. After the quarantine the next calls are a trial: a success
//! resets all counts, and a failure starts a quarantine of twice the time.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::config::Limits;

/// Failures further apart than this are not consecutive.
const WINDOW: Duration = Duration::from_secs(60);

/// How often the time doubles.
const MAX_DOUBLINGS: u32 = 6;

/// The quarantine of one plugin.
#[derive(Debug)]
pub(super) struct Quarantine {
    max_failures: u64,
    first: Duration,
    state: Mutex<QuarantineState>,
}

#[derive(Debug, Default)]
struct QuarantineState {
    /// Consecutive failures, and the time of the last one.
    failures: u64,
    last: Option<Instant>,
    /// The end of the last quarantine.
    until: Option<Instant>,
    /// Consecutive quarantines.
    times: u32,
}

impl Quarantine {
    pub(super) fn new(limits: &Limits) -> Self {
        let first = Duration::from_secs(limits.quarantine_s);
        Self { max_failures: limits.quarantine_failures, first, state: Mutex::default() }
    }

    /// Whether the plugin may be called.
    ///
    /// # Errors
    /// With the remaining time of the quarantine.
    pub(super) fn admit(&self, now: Instant) -> Result<(), Duration> {
        match self.state.lock().until {
            Some(until) if until > now => Err(until - now),
            _ => Ok(()),
        }
    }

    /// Counts a call that succeeded. `now` is called only if the plugin was quarantined, which few are.
    pub(super) fn record_success(&self, now: impl FnOnce() -> Instant) {
        let mut state = self.state.lock();
        // A call that began before the quarantine does not end it.
        if state.until.is_none_or(|until| until <= now()) {
            *state = QuarantineState::default();
        }
    }

    /// Counts a call that trapped or hit a limit. Gives the time of the quarantine, if one begins now.
    pub(super) fn record_failure(&self, now: Instant) -> Option<Duration> {
        let mut state = self.state.lock();
        if state.until.is_some_and(|until| until > now) {
            return None;
        }
        let in_row = state.last.is_some_and(|last| now.saturating_duration_since(last) < WINDOW);
        state.failures = if in_row { state.failures + 1 } else { 1 };
        state.last = Some(now);
        let on_trial = state.until.is_some();
        if state.failures < self.max_failures && !on_trial {
            return None;
        }
        let time = self.first * 2_u32.pow(state.times.min(MAX_DOUBLINGS));
        state.times += 1;
        state.failures = 0;
        state.until = Some(now + time);
        Some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarantine() -> Quarantine {
        Quarantine::new(&Limits { quarantine_failures: 3, quarantine_s: 10, ..Limits::default() })
    }

    #[test]
    fn failures_in_a_row_lead_to_quarantine_and_each_is_longer() {
        let (quarantine, start) = (quarantine(), Instant::now());
        let after = |s| start + Duration::from_secs(s);
        assert_eq!((quarantine.record_failure(start), quarantine.record_failure(after(1))), (None, None));
        assert_eq!(quarantine.record_failure(after(2)), Some(Duration::from_secs(10)));
        assert_eq!(quarantine.admit(after(3)), Err(Duration::from_secs(9)));
        assert_eq!(quarantine.record_failure(after(3)), None, "a call that was under way");
        assert_eq!(quarantine.admit(after(12)), Ok(()));
        assert_eq!(
            quarantine.record_failure(after(13)),
            Some(Duration::from_secs(20)),
            "it failed its trial"
        );
        assert_eq!(quarantine.record_failure(after(40)), Some(Duration::from_secs(40)));
    }

    #[test]
    fn one_success_is_enough_and_rare_failures_are_not() {
        let (quarantine, start) = (quarantine(), Instant::now());
        let after = |s| start + Duration::from_secs(s);
        quarantine.record_failure(start);
        quarantine.record_failure(start);
        quarantine.record_success(|| start);
        assert_eq!(quarantine.record_failure(start), None);
        assert_eq!(quarantine.record_failure(after(70)), None);
        assert_eq!(quarantine.record_failure(after(71)), None);
        assert_eq!(quarantine.admit(after(71)), Ok(()));
        assert!(quarantine.record_failure(after(72)).is_some());
        quarantine.record_success(|| after(73));
        assert!(quarantine.admit(after(73)).is_err(), "a call that had begun before");
        quarantine.record_success(|| after(110));
        assert_eq!(quarantine.record_failure(after(111)), None, "all is forgotten");
    }
}
