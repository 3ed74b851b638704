//! Why an access token is refused: one variant for each reason.
//!
//! The `Display` text goes to the operator's audit, and [`TokenError::description`] to the client. Neither repeats any
//! part of the token, which may be somebody else's secret. The description says nothing about the configuration.

use std::time::Duration;

use super::proof_error::ProofError;

/// Why an access token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The header is no bearer token (RFC 6750, 2.1): the request is malformed (400).
    #[error(
        "the header Authorization holds no bearer token; the client must send one token and nothing else"
    )]
    Malformed,
    /// The token exceeds the maximum length.
    #[error("the token is longer than 16 KiB; have the issuer put fewer claims into it")]
    TooLong,
    /// Neither a token of `[auth.tokens]`, nor a JWT, nor is there an issuer that could introspect it.
    #[error("the token is no JWT and no token of this server; tokens that are no JWT need `introspection`")]
    Unknown,
    /// A part of the token is not base64url, or not a JSON object.
    #[error("a part of the token is no JSON object in base64url; the client sends a broken token")]
    Undecodable,
    /// An object has a member twice, or a member whose name serde_json reserves.
    #[error(
        "the token holds a name that programs read in different ways, as when it stands twice; its issuer is broken"
    )]
    AmbiguousName,
    /// A header parameter of the wrong type.
    #[error("a header parameter of the token has the wrong type; its issuer is broken")]
    HeaderFormat,
    /// The algorithm is `none`, one with a shared secret, or one that the issuer is not configured for.
    #[error("the token is signed with an algorithm that is not in `algorithms` of its issuer")]
    AlgorithmNotAllowed,
    /// `typ` names another type of token, or is missing although `strict_type` requires it.
    #[error("the token is no access token by its type; with `strict_type` the type must be at+jwt")]
    WrongType,
    /// An ID-JAG, which a client must exchange for an access token.
    #[error("the token is an identity assertion (ID-JAG); the client must exchange it for an access token")]
    IdentityAssertion,
    /// `crit` names header extensions; this server supports none.
    #[error("the token has critical header parameters, of which this server supports none")]
    CriticalHeader,
    /// No key of the issuer has the `kid`, or no key is for the algorithm.
    #[error("the token is signed with a key that its issuer does not publish")]
    UnknownKey,
    /// The key with the `kid` is for another purpose.
    #[error("the key that the token names is not for signatures of its algorithm")]
    KeyMismatch,
    /// The signature was made with another key, or the token was changed.
    #[error("the signature of the token is wrong")]
    BadSignature,
    /// The JWT has no `iss`.
    #[error("the token names no issuer")]
    MissingIssuer,
    /// `iss` is not a configured issuer.
    #[error("the token is of an issuer that is not in `[[auth.issuers]]`")]
    UnknownIssuer,
    /// A claim has the wrong type, or a name in it is none ([`is_principal_name`](crate::config::is_principal_name)).
    #[error(
        "a claim of the token has the wrong type, is too long or empty, or holds hidden characters or a space at one of \
         its ends"
    )]
    ClaimFormat,
    /// The token has no `aud`.
    #[error("the token names no audience, so it may be meant for any server")]
    MissingAudience,
    /// `aud` names only other servers.
    #[error("the token is for another audience; it must name one in `audience` of its issuer")]
    WrongAudience,
    /// The JWT has no `exp`.
    #[error("the token never expires; its issuer must set `exp`")]
    MissingExpiry,
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
    /// `nbf` is in the future.
    #[error("the token is not valid yet; compare the clocks of this machine and of the issuer")]
    NotYetValid,
    /// `iat` is in the future.
    #[error("the token was issued in the future; compare the clocks of this machine and of the issuer")]
    IssuedInFuture,
    /// The token has no subject.
    #[error("the token names no subject")]
    MissingSubject,
    /// An OpenID Connect ID token, which is meant for the client.
    #[error(
        "the token is an ID token, which tells the client who logged in; the client must send its access token"
    )]
    IdToken,
    /// The token is bound (RFC 7800) to a client certificate that the connection does not have, or to something that
    /// this server cannot verify.
    #[error(
        "the token is bound to something that the client did not show; a client can show a key (DPoP) or a certificate"
    )]
    UnprovenBinding,
    /// The token is bound to a key, and was sent with the scheme `Bearer`.
    #[error("the token is bound to a key; the client must send it with the scheme DPoP and a proof")]
    MissingProof,
    /// The token is not bound to a key, and was sent with the scheme `DPoP`.
    #[error("the token is bound to no key; the client must send it with the scheme Bearer")]
    NotBound,
    /// The token is not bound to a key, although `require_dpop` demands that.
    #[error("the token is bound to no key, and `require_dpop` accepts only tokens that are")]
    BindingRequired,
    /// The DPoP proof was refused.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The replay cache is full (429).
    #[error("too many proofs were used in the last minutes to remember another one")]
    TooManyProofs,
    /// The token has too many scopes.
    #[error("the token has more than 256 scopes")]
    TooManyScopes,
    /// The token has too many groups, or only references to them.
    #[error("the token has more than 64 groups, or names them by reference; have the issuer send fewer")]
    TooManyGroups,
    /// The introspection response says that the token is not active.
    #[error("the issuer says that the token is not active: it is unknown, revoked or expired")]
    Inactive,
    /// The issuer cannot be reached, so it is unknown whether the token is valid (503).
    #[error("the issuer could not be asked about the token, and the log says why")]
    Unavailable {
        /// After how long the client should try again.
        retry_after: Duration,
    },
    /// The token may be newer than the keys of its issuer, which were fetched too often to be fetched again yet (503).
    #[error(
        "the token names a key that was not fetched yet, and other unknown keys have used up the fetches"
    )]
    KeyNotFetched {
        /// After how long the client should try again.
        retry_after: Duration,
    },
}

impl TokenError {
    /// The text for the client: `error_description` of RFC 6750, which has no quotes and backslashes.
    #[must_use]
    pub fn description(&self) -> &'static str {
        match self {
            Self::Malformed => "the Authorization header must hold one bearer token",
            Self::TooLong => "the token is too long",
            Self::Unknown => "the token is not known here",
            Self::Undecodable | Self::AmbiguousName | Self::HeaderFormat => "the token is broken",
            Self::AlgorithmNotAllowed => "the token is signed with an algorithm that is not accepted",
            Self::WrongType => "the token is not an access token",
            Self::IdentityAssertion => "exchange the identity assertion for an access token first",
            Self::CriticalHeader => "the token has critical header parameters that are not supported",
            Self::UnknownKey | Self::KeyMismatch | Self::BadSignature => "the signature cannot be verified",
            Self::MissingIssuer | Self::UnknownIssuer => "the issuer of the token is not accepted",
            Self::ClaimFormat => "a claim of the token cannot be read",
            Self::MissingAudience | Self::WrongAudience => "the token is for another audience",
            Self::MissingExpiry => "the token must expire",
            Self::Expired => "the token has expired",
            Self::NotYetValid | Self::IssuedInFuture => "the token is not valid yet",
            Self::MissingSubject => "the token names no subject",
            Self::IdToken => "an ID token is not an access token",
            Self::UnprovenBinding => "the token is bound to something that was not shown",
            Self::MissingProof => "the token is bound to a key, send it with the scheme DPoP and a proof",
            Self::NotBound => "the token is bound to no key, send it with the scheme Bearer",
            Self::BindingRequired => "the token must be bound to a key",
            Self::Proof(error) => error.description(),
            Self::TooManyProofs => "too many proofs, try again later",
            Self::TooManyScopes => "the token has too many scopes",
            Self::TooManyGroups => "the token has too many groups",
            Self::Inactive => "the token is not active",
            Self::Unavailable { .. } => "the issuer of the token cannot be reached, try again later",
            Self::KeyNotFetched { .. } => "the key of the token cannot be fetched yet, try again later",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_only_the_characters_of_rfc_6750() {
        let retry_after = Duration::from_secs(5);
        for error in [
            TokenError::Malformed,
            TokenError::Undecodable,
            TokenError::IdentityAssertion,
            TokenError::UnprovenBinding,
            TokenError::MissingProof,
            TokenError::Proof(ProofError::ClaimFormat),
            TokenError::Unavailable { retry_after },
            TokenError::KeyNotFetched { retry_after },
        ] {
            let is_plain = |byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e);
            assert!(error.description().bytes().all(is_plain), "{error:?}");
        }
    }
}
