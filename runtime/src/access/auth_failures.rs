//! Requests that were not authenticated, and their lines in the audit.
//!
//! A client that tries tokens in a loop must not fill the audit, nor hide other clients that try. So the audit gets
//! these lines at a bounded rate, each client network at a part of it, and a line has the number of failures since the
//! line before it. Lines do not list the addresses of those failures: an attacker with many addresses could fill any
//! list.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::auth_error::AuthError;
use super::client_network::ClientNetwork;
use crate::observe::Audit;
use crate::token_bucket::{CallerRates, TokenBucket};

/// Lines in a [`PERIOD`]; as many may come at once. A line has at most 300 bytes, so a flood from any number of
/// addresses writes 4 MiB in a day: it rotates the file of 64 MiB once in two weeks, and all five in two months.
const LINES: u64 = 100;

/// The same of one client.
const LINES_OF_ONE_CLIENT: u64 = 40;

/// How long it takes until as many lines may come again.
const PERIOD: Duration = Duration::from_secs(600);

/// Records failures.
#[derive(Debug)]
pub(super) struct AuthFailures {
    audit: Audit,
    lines: TokenBucket,
    clients: CallerRates<ClientNetwork>,
    unlisted: AtomicU64,
}

#[derive(Serialize)]
struct AuthFailureLine<'a> {
    event: &'static str,
    address: Option<IpAddr>,
    reason: &'a str,
    /// Failures of all addresses since the last line that have no line of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<u64>,
}

impl AuthFailures {
    pub(super) fn new(audit: Audit) -> Self {
        let lines = TokenBucket::new(LINES, PERIOD, Instant::now());
        let clients = CallerRates::new(LINES_OF_ONE_CLIENT, PERIOD);
        Self { audit, lines, clients, unlisted: AtomicU64::new(0) }
    }

    pub(super) fn record(&self, address: Option<IpAddr>, error: &AuthError) {
        // A client without a token learns from the response where to get one, and comes again.
        if *error == AuthError::Missing {
            return;
        }
        if !self.has_line(address, Instant::now()) {
            self.unlisted.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let unlisted = Some(self.unlisted.swap(0, Ordering::Relaxed)).filter(|count| *count > 0);
        let reason = error.to_string();
        self.audit.record(&AuthFailureLine { event: "unauthenticated", address, reason: &reason, unlisted });
    }

    /// Whether there is a line for a failure. The client's own rate comes first, so that one that fails without end
    /// uses up little of the common one.
    fn has_line(&self, address: Option<IpAddr>, now: Instant) -> bool {
        self.clients.admit(&ClientNetwork::of(address), now) && self.lines.take(1, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::oauth::TokenError;

    #[test]
    fn one_address_does_not_take_the_lines_of_another() {
        let failures = AuthFailures::new(Audit::disabled());
        let now = Instant::now();
        let of = |text: &str| failures.has_line(Some(text.parse().unwrap()), now);
        let lines = (0..1_000).filter(|_| of("192.0.2.1")).count();
        assert_eq!(lines, 40);
        assert!(of("192.0.2.2") && of("2001:db8::1"));
        let lines = (0..1_000).filter(|n| of(&format!("2001:db8::{n}"))).count();
        assert_eq!(lines, 39, "a network of IPv6 is one client");
        let many = (0..1_000).filter(|n| of(&format!("10.0.{}.{}", n / 250, n % 250))).count();
        assert_eq!(many, 100 - 40 - 1 - 40, "all together have a bound too");
    }

    #[test]
    fn a_flood_from_everywhere_does_not_rotate_the_audit_for_days() {
        let failures = AuthFailures::new(Audit::disabled());
        let begun = Instant::now();
        let day = 86_400_u64;
        let lines = (0..day).filter(|second| {
            let address = IpAddr::from(u32::try_from(*second).unwrap().to_be_bytes());
            failures.has_line(Some(address), begun + Duration::from_secs(*second))
        });
        let lines = lines.count();
        assert!((14_000..=14_600).contains(&lines), "{lines}");
        let error = AuthError::Token(TokenError::UnprovenBinding);
        let address = Some("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap());
        let reason = error.to_string();
        let line =
            AuthFailureLine { event: "unauthenticated", address, reason: &reason, unlisted: Some(u64::MAX) };
        let time = r#""time":"2026-11-23T22:28:17.123456Z","#.len();
        assert!(serde_json::to_string(&line).unwrap().len() + time <= 300);
    }
}
