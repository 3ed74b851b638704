//! The rules for a proof (RFC 9449, 4.3). Expensive checks come last.
//!
//! The key in the header must be the key to which the token is bound; this is checked before anything is verified with
//! that key. So a client without a bound token causes no verification of a signature.

use std::time::{Duration, SystemTime};

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::target_uri::TargetUri;
use super::thumbprint::thumbprint;
use crate::access::oauth::expiring_map::Digest;
use crate::access::oauth::jwks::PublicKey;
use crate::access::oauth::jwt::Jwt;
use crate::access::oauth::proof_error::ProofError;
use crate::config::JwtAlgorithm;

/// Maximum length of a proof, in bytes.
const MAX_PROOF: usize = 16 << 10;

/// How far `iat` may be in the past and in the future.
const WINDOW: Duration = Duration::from_secs(5 * 60);

/// What a proof must contain.
pub(super) struct ExpectedClaims<'e> {
    pub(super) method: &'e str,
    pub(super) targets: &'e [String],
    /// The SHA-256 of the token.
    pub(super) token: &'e Digest,
    /// The thumbprint of the key to which the token is bound.
    pub(super) key: &'e Digest,
    /// The earliest acceptable time of the proof.
    pub(super) earliest: SystemTime,
    pub(super) now: SystemTime,
}

/// A valid proof; the replay cache decides whether it was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AcceptedProof {
    /// The digest of the proof's key and its `jti`.
    pub(super) id: Digest,
    /// When the proof becomes too old.
    pub(super) until: SystemTime,
}

/// Verifies a proof.
pub(super) fn verify(text: &str, expected: &ExpectedClaims<'_>) -> Result<AcceptedProof, ProofError> {
    if text.len() > MAX_PROOF {
        return Err(ProofError::TooLong);
    }
    let jwt = Jwt::parse(text).ok().flatten().ok_or(ProofError::Undecodable)?;
    let (algorithm, key) = check_header(jwt.header(), expected.key)?;
    let (jti, issued) = check_claims(jwt.unverified_claims(), expected)?;
    if !jwt.is_signed_by(&key, algorithm) {
        return Err(ProofError::BadSignature);
    }
    let id = Sha256::new().chain_update(expected.key).chain_update(jti).finalize().into();
    Ok(AcceptedProof { id, until: issued.checked_add(WINDOW).ok_or(ProofError::NotNow)? })
}

/// Returns the algorithm of a proof and the key in its header, which must be the expected key.
fn check_header(
    header: &Map<String, Value>,
    expected: &Digest,
) -> Result<(JwtAlgorithm, PublicKey), ProofError> {
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    if text("typ") != Some("dpop+jwt") {
        return Err(ProofError::WrongType);
    }
    let algorithm = text("alg").and_then(JwtAlgorithm::parse).ok_or(ProofError::AlgorithmNotAllowed)?;
    if header.contains_key("crit") {
        return Err(ProofError::CriticalHeader);
    }
    let jwk = header.get("jwk").and_then(Value::as_object).ok_or(ProofError::NoKey)?;
    let key = PublicKey::read(jwk).filter(|key| key.fits(algorithm)).ok_or(ProofError::NoKey)?;
    if thumbprint(jwk).as_ref() != Some(expected) {
        return Err(ProofError::OtherKey);
    }
    Ok((algorithm, key))
}

/// Returns the `jti` of a proof, and when the proof was made.
fn check_claims<'c>(
    claims: &'c Value,
    expected: &ExpectedClaims<'_>,
) -> Result<(&'c str, SystemTime), ProofError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).ok_or(ProofError::ClaimFormat);
    let (jti, method, uri, token) = (text("jti")?, text("htm")?, text("htu")?, text("ath")?);
    let issued = claims.get("iat").and_then(Value::as_f64).ok_or(ProofError::ClaimFormat)?;
    let issued = Duration::try_from_secs_f64(issued).map_err(|_| ProofError::ClaimFormat)?;
    let issued = SystemTime::UNIX_EPOCH.checked_add(issued).ok_or(ProofError::ClaimFormat)?;
    if jti.is_empty() {
        return Err(ProofError::ClaimFormat);
    }
    if method != expected.method {
        return Err(ProofError::OtherMethod);
    }
    if !TargetUri::parse(uri).is_some_and(|uri| uri.is_one_of(expected.targets)) {
        return Err(ProofError::OtherUri);
    }
    if token != BASE64URL_NOPAD.encode(expected.token) {
        return Err(ProofError::OtherToken);
    }
    let now = expected.now;
    let apart = now.duration_since(issued).or_else(|_| issued.duration_since(now));
    if !apart.is_ok_and(|apart| apart < WINDOW) {
        return Err(ProofError::NotNow);
    }
    if issued < expected.earliest {
        return Err(ProofError::BeforeStart);
    }
    Ok((jti, issued))
}
