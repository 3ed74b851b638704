//! Why a call is over quota: a text for its caller, and the limit's name for the audit.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::QuotaKind;

/// A limit of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotaLimit {
    Rate(QuotaKind),
    /// One request wants more than the quota's whole amount.
    Whole(QuotaKind),
    Concurrent,
}

/// A limit of a quota that a call has reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaError {
    pub(super) limit: QuotaLimit,
    /// The configured number of the limit.
    pub(super) value: u64,
    pub(super) role: Arc<str>,
    pub(super) wait: Duration,
}

impl QuotaError {
    /// The name of the limit, for the audit.
    #[must_use]
    pub fn limit_name(&self) -> &'static str {
        match self.limit {
            QuotaLimit::Concurrent => "quota:concurrent",
            QuotaLimit::Rate(kind) | QuotaLimit::Whole(kind) => match kind {
                QuotaKind::CallsPerMinute => "quota:calls_per_minute",
                QuotaKind::CallsPerDay => "quota:calls_per_day",
                QuotaKind::FuelPerHour => "quota:fuel_per_hour",
                QuotaKind::CpuPerHour => "quota:cpu_s_per_hour",
                QuotaKind::SamplingTokensPerDay => "quota:sampling_tokens_per_day",
            },
        }
    }

    /// The configured number of the limit.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// The role that the quota belongs to.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.role
    }

    /// After how many seconds the call may be tried again, at least one.
    #[must_use]
    pub fn retry_after_s(&self) -> u64 {
        let part = u64::from(self.wait.subsec_nanos() > 0);
        self.wait.as_secs().saturating_add(part).max(1)
    }
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, role, .. } = self;
        let (what, key) = match self.limit {
            QuotaLimit::Concurrent => {
                return write!(
                    f,
                    "over quota: the role `{role}` allows {value} calls at the same time (quota `concurrent`), and as \
                     many of yours are running; try again when one of them has ended"
                );
            }
            QuotaLimit::Whole(kind) => {
                return write!(
                    f,
                    "over quota: the role `{role}` allows {value} {} (quota `{}`), and one request wants more; ask for \
                     fewer",
                    what(kind),
                    kind.key()
                );
            }
            QuotaLimit::Rate(kind) => (what(kind), kind.key()),
        };
        let seconds = self.retry_after_s();
        write!(
            f,
            "over quota: the role `{role}` allows {value} {what} (quota `{key}`), and not enough of that is left; try \
             again in {seconds} s"
        )
    }
}

fn what(kind: QuotaKind) -> &'static str {
    match kind {
        QuotaKind::CallsPerMinute => "calls a minute",
        QuotaKind::CallsPerDay => "calls a day",
        QuotaKind::FuelPerHour => "units of fuel an hour",
        QuotaKind::CpuPerHour => "seconds of processor time an hour",
        QuotaKind::SamplingTokensPerDay => "tokens of the client's model a day",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_limit_and_the_role_and_says_when() {
        let over = |limit, wait| QuotaError { limit, value: 5, role: "analyst".into(), wait };
        for kind in QuotaKind::ALL {
            let over = over(QuotaLimit::Rate(kind), Duration::from_millis(2_100));
            let text = over.to_string();
            let key = format!("`{}`", kind.key());
            let parts = ["`analyst`", key.as_str(), " 5 ", "in 3 s"];
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
            assert_eq!(over.limit_name(), format!("quota:{}", kind.key()));
        }
        let whole = over(QuotaLimit::Whole(QuotaKind::SamplingTokensPerDay), Duration::ZERO).to_string();
        assert!(whole.contains("ask for fewer") && !whole.contains("try again"), "{whole}");
        let running = over(QuotaLimit::Concurrent, Duration::ZERO);
        assert!(running.to_string().contains("`concurrent`") && running.retry_after_s() == 1);
    }
}
