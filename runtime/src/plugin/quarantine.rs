//! A plugin whose calls keep failing is in quarantine for a while, and longer each time.
//!
//! Only failures in a row count, so that one caller with bad arguments does not take a plugin away from others for whom
//! it works meanwhile. A caller that is alone with it can. When the time is over the next calls are the trial: one
//! success and all is forgotten, one failure and the time doubles.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Limits;

/// Failures further apart than this are not in a row.
const WINDOW: Duration = Duration::from_secs(60);

/// How often the time doubles.
const MOST_DOUBLINGS: u32 = 6;

/// Whether one plugin may be called.
#[derive(Debug)]
pub(super) struct Quarantine {
    most: u64,
    first: Duration,
    state: Mutex<QuarantineState>,
}

#[derive(Debug, Default)]
struct QuarantineState {
    /// Failures in a row, and when the last one was.
    failures: u64,
    last: Option<Instant>,
    /// Until when it is left alone.
    until: Option<Instant>,
    /// Quarantines in a row.
    times: u32,
}

impl Quarantine {
    pub(super) fn new(limits: &Limits) -> Self {
        let first = Duration::from_secs(limits.quarantine_s);
        Self { most: limits.quarantine_failures, first, state: Mutex::default() }
    }

    /// Whether it may be called.
    ///
    /// # Errors
    /// With the time that is left.
    pub(super) fn admit(&self, now: Instant) -> Result<(), Duration> {
        match self.lock().until {
            Some(until) if until > now => Err(until - now),
            _ => Ok(()),
        }
    }

    /// A call ended well.
    pub(super) fn record_success(&self, now: Instant) {
        let mut state = self.lock();
        // Calls that began earlier may end while it is left alone; they do not set it free.
        if state.until.is_none_or(|until| until <= now) {
            *state = QuarantineState::default();
        }
    }

    /// A call had to be ended. The time for which the plugin is left alone, if that begins now.
    pub(super) fn record_failure(&self, now: Instant) -> Option<Duration> {
        let mut state = self.lock();
        if state.until.is_some_and(|until| until > now) {
            return None;
        }
        let in_row = state.last.is_some_and(|last| now.saturating_duration_since(last) < WINDOW);
        state.failures = if in_row { state.failures + 1 } else { 1 };
        state.last = Some(now);
        let on_trial = state.until.is_some();
        if state.failures < self.most && !on_trial {
            return None;
        }
        let time = self.first * 2_u32.pow(state.times.min(MOST_DOUBLINGS));
        state.times += 1;
        state.failures = 0;
        state.until = Some(now + time);
        Some(time)
    }

    fn lock(&self) -> MutexGuard<'_, QuarantineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        quarantine.record_success(start);
        assert_eq!(quarantine.record_failure(start), None);
        assert_eq!(quarantine.record_failure(after(70)), None);
        assert_eq!(quarantine.record_failure(after(71)), None);
        assert_eq!(quarantine.admit(after(71)), Ok(()));
        assert!(quarantine.record_failure(after(72)).is_some());
        quarantine.record_success(after(73));
        assert!(quarantine.admit(after(73)).is_err(), "a call that had begun before");
        quarantine.record_success(after(110));
        assert_eq!(quarantine.record_failure(after(111)), None, "all is forgotten");
    }
}
