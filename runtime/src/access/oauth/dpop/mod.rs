//! DPoP (RFC 9449): with each request, the client proves that it holds the key to which its token is bound.
//!
//! Whoever copies a token that is bound to a key cannot use it without the key: each request needs a proof, which is a
//! JWT that the key signs and that names the request and the token. This module decides whether a proof is valid, and
//! remembers proofs until they are too old, so that none is accepted twice. It does not check tokens: `bound_token`
//! calls it only for valid tokens, so a client without a valid token causes no verification of a proof.
//!
//! There are no nonces (`DPoP-Nonce`). A nonce would bound how long a proof that was made in advance is valid. Here
//! `iat` and the replay cache do that, and the client needs no second request.
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

/// The proof of a request with the scheme `DPoP`, and what the proof must name. It has no `Debug`, because proofs must
/// not be logged.
#[derive(Clone, Copy)]
pub struct DpopRequest<'r> {
    /// The proof; `None` if there is none, or more than one.
    pub proof: Option<&'r str>,
    /// The method of the request.
    pub method: &'r str,
    /// The URIs under which the client may have reached this endpoint.
    pub targets: &'r [String],
}

/// Verifies proofs. It outlives changes of the configuration, because a used proof must stay used.
#[derive(Debug)]
pub(crate) struct ProofVerifier {
    used: ReplayCache,
}

impl ProofVerifier {
    /// Makes a verifier whose replay cache starts at `now`.
    pub(crate) fn new(now: SystemTime) -> Self {
        Self { used: ReplayCache::new(now) }
    }

    /// Verifies that the request has a proof by `key` for the token with the SHA-256 `token`, and records the proof as
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
        tracing::trace!(principal = &**holder, "verified a proof");
        self.used.insert(proof, holder, now)
    }
}
