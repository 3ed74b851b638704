//! DPoP (RFC 9449): with each request, the client proves that it has the key to which its token is bound.
//!
//! A copied token that is bound to a key is useless without the key: each request needs a proof, a JWT that the key
//! signs and that names the request and the token. This module decides whether a proof is valid, and remembers proofs
//! until they are too old, so that none is accepted twice. It must not look at tokens: `bound_token` knows to which key
//! a token is bound, and asks here only about valid tokens, so a client without one causes no verification of a proof.
//!
//! There are no nonces (`DPoP-Nonce`). A nonce would bound how long a proof that was made ahead is good. Here `iat` and
//! the replay cache do that, and a client is spared a second request.
//!
//! | Module | What it does |
//! |---|---|
//! | `proof` | the rules for a proof |
//! | `target_uri` | compares the URI in a proof with that of the request |
//! | `thumbprint` | the digest of a key (RFC 7638) |
//! | `replay_cache` | the proofs that were used |

mod proof;
mod replay_cache;
mod target_uri;
#[cfg(test)]
mod tests;
mod thumbprint;

use std::sync::Arc;
use std::time::SystemTime;

use super::error::TokenError;
use super::expiring_map::Digest;
use super::proof_error::ProofError;
use proof::ExpectedClaims;
use replay_cache::ReplayCache;

/// What a request with the scheme `DPoP` brings beside its token, and what the proof has to name. It has no `Debug`,
/// since proofs are not for logs.
#[derive(Clone, Copy)]
pub struct DpopRequest<'r> {
    /// The proof; `None`: there is none, or more than one.
    pub proof: Option<&'r str>,
    /// The method of the request.
    pub method: &'r str,
    /// The URIs under which the client may have reached the endpoint.
    pub targets: &'r [String],
}

/// Verifies proofs. It outlives every configuration, since a proof that was used stays used.
#[derive(Debug)]
pub(crate) struct ProofVerifier {
    used: ReplayCache,
}

impl ProofVerifier {
    /// A verifier that begins to remember at `now`.
    pub(crate) fn new(now: SystemTime) -> Self {
        Self { used: ReplayCache::new(now) }
    }

    /// Verifies that the request has a proof of `key`, for the token with the SHA-256 `token`, and notes the proof as
    /// used by the principal `holder`.
    pub(super) fn verify(
        &self,
        request: DpopRequest<'_>,
        token: &Digest,
        key: &Digest,
        holder: &Arc<str>,
        now: SystemTime,
    ) -> Result<(), TokenError> {
        let text = request.proof.ok_or(ProofError::NotOne)?;
        let expected = ExpectedClaims {
            method: request.method,
            targets: request.targets,
            token,
            key,
            earliest: self.used.earliest(),
            now,
        };
        let proof = proof::verify(text, &expected)?;
        self.used.insert(proof, holder, now)
    }
}
