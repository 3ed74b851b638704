//! Writes failed authentications into the audit.
//!
//! A client that tries tokens in a loop must neither fill the audit nor hide the attempts of other clients. So a token
//! bucket bounds these lines, and each client network has a share of them. A line has the number of failures since the
//! previous line that got no line of their own. It does not list the addresses of those failures, because an attacker
//! with many addresses could fill any list.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::auth_error::AuthError;
use super::client_network::ClientNetwork;
use crate::observe::Audit;
use crate::token_bucket::{CallerRates, TokenBucket};

/// Lines in each [`PERIOD`]; all of them may come at once. A line has at most 300 bytes, so even a flood from many
/// addresses writes only 4 MiB a day: it rotates the audit's file of 64 MiB once in two weeks, and all five files in
/// two months.
const LINES: u64 = 100;

/// Lines in each [`PERIOD`] about one client network.
const LINES_OF_ONE_CLIENT: u64 = 40;

/// The time in which the token buckets fill.
const PERIOD: Duration = Duration::from_secs(600);

/// Records failed authentications.
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
    /// How many failures, of all addresses, got no line of their own since the previous line.
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
        // A client without a token learns from the response where to get one, and tries again. That is no failure.
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

    /// Whether a failure gets a line. The bucket of the client network is asked first, so that one network that keeps
    /// failing takes little from the common bucket.
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
