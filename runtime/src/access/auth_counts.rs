//! Counts of authenticated and unauthenticated requests, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::auth_error::AuthError;
use super::oauth::TokenError;

/// Counts of requests by the outcome of authentication.
#[derive(Debug, Default)]
pub(super) struct AuthCounts {
    authenticated: AtomicU64,
    missing: AtomicU64,
    expired: AtomicU64,
    invalid: AtomicU64,
    malformed: AtomicU64,
    unavailable: AtomicU64,
    too_many_proofs: AtomicU64,
}

impl AuthCounts {
    /// Counts a request with valid credentials.
    pub(super) fn succeeded(&self) {
        self.authenticated.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that failed to authenticate.
    pub(super) fn failed(&self, error: &AuthError) {
        let count = match error {
            AuthError::Missing => &self.missing,
            AuthError::Expired | AuthError::Token(TokenError::Expired) => &self.expired,
            AuthError::Token(TokenError::Malformed) => &self.malformed,
            AuthError::Token(TokenError::Unavailable { .. }) => &self.unavailable,
            AuthError::Token(TokenError::TooManyProofs) => &self.too_many_proofs,
            AuthError::Token(_) => &self.invalid,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns each outcome with its count.
    pub(super) fn read(&self) -> [(&'static str, u64); 7] {
        let counts = [
            ("authenticated", &self.authenticated),
            ("missing", &self.missing),
            ("expired", &self.expired),
            ("invalid", &self.invalid),
            ("malformed", &self.malformed),
            ("unavailable", &self.unavailable),
            ("too_many_proofs", &self.too_many_proofs),
        ];
        counts.map(|(outcome, count)| (outcome, count.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_the_server_or_with_the_rate_is_no_invalid_token() {
        let counts = AuthCounts::default();
        let retry_after = std::time::Duration::from_secs(5);
        counts.succeeded();
        // Strangers use up the fetches of keys, which says nothing about the provider.
        for error in [
            TokenError::TooManyProofs,
            TokenError::Unavailable { retry_after },
            TokenError::KeyNotFetched { retry_after },
        ] {
            counts.failed(&AuthError::Token(error));
        }
        let counted = counts.read().into_iter().filter(|(_, count)| *count > 0);
        let counted: Vec<_> = counted.map(|(outcome, _)| outcome).collect();
        assert_eq!(counted, ["authenticated", "invalid", "unavailable", "too_many_proofs"]);
    }
}
