//! Requests that were not authenticated, and their lines in the audit.
//!
//! Whoever tries tokens without end must not push everything else out of the audit: lines come at a bounded rate, and a
//! line carries the number of failures before it that have none.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::auth_error::AuthError;
use crate::observe::Audit;
use crate::sandbox::TokenBucket;

/// Lines in a second; as many may come at once.
const LINES_PER_SECOND: u64 = 100;

/// Records failures.
#[derive(Debug)]
pub(super) struct AuthFailures {
    audit: Audit,
    lines: TokenBucket,
    unlisted: AtomicU64,
}

#[derive(Serialize)]
struct AuthFailureLine<'a> {
    event: &'static str,
    address: Option<IpAddr>,
    reason: &'a str,
    /// Failures since the last line that have no line of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<u64>,
}

impl AuthFailures {
    pub(super) fn new(audit: Audit) -> Self {
        let lines = TokenBucket::per_second(LINES_PER_SECOND);
        Self { audit, lines, unlisted: AtomicU64::new(0) }
    }

    pub(super) fn record(&self, address: Option<IpAddr>, error: &AuthError) {
        // A client without a token learns from the response where to get one, and comes again.
        if *error == AuthError::Missing {
            return;
        }
        if !self.lines.take(1, Instant::now()) {
            self.unlisted.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let unlisted = Some(self.unlisted.swap(0, Ordering::Relaxed)).filter(|count| *count > 0);
        let reason = error.to_string();
        self.audit.record(&AuthFailureLine { event: "unauthenticated", address, reason: &reason, unlisted });
    }
}
