//! Why a DPoP proof is refused: one variant for each reason.
//!
//! As with [`TokenError`](super::TokenError), the `Display` text goes to the operator's audit, and the description to
//! the client.

/// Why a DPoP proof is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The request has no header `DPoP`, or two.
    #[error("the request has no proof, or more than one; the client must send one header DPoP")]
    NotOne,
    /// The proof exceeds the maximum length.
    #[error("the proof is longer than 16 KiB")]
    TooLong,
    /// The proof is not three parts in base64url, not JSON, or has an ambiguous member.
    #[error("the proof is no JWT")]
    Undecodable,
    /// `typ` is not `dpop+jwt`.
    #[error("the type of the proof is not dpop+jwt")]
    WrongType,
    /// The algorithm is `none`, one with a shared secret, or unknown.
    #[error("the proof is signed with an algorithm that this server does not verify")]
    AlgorithmNotAllowed,
    /// `crit` names header extensions; this server supports none.
    #[error("the proof has critical header parameters, of which this server supports none")]
    CriticalHeader,
    /// `jwk` is missing, is a private key, or is no key for signatures with the algorithm.
    #[error("the proof has no public key for its algorithm in `jwk`")]
    NoKey,
    /// The token is bound to another key.
    #[error("the token is bound to another key than the one of the proof")]
    OtherKey,
    /// A claim is missing or has the wrong type.
    #[error("the proof lacks a claim, or a claim has the wrong type; it needs jti, htm, htu, iat and ath")]
    ClaimFormat,
    /// `htm` is not the method of the request.
    #[error("the proof is for another method")]
    OtherMethod,
    /// `htu` is not the URI of the request.
    #[error("the proof is for another URI; `resource` under [auth] must be the URI that clients use")]
    OtherUri,
    /// `ath` is not the digest of the token.
    #[error("the proof is for another token")]
    OtherToken,
    /// `iat` is more than five minutes in the past or in the future.
    #[error(
        "the proof is too old, or was made in the future; compare the clocks of this machine and of the client"
    )]
    NotNow,
    /// `iat` is before the start of the server, which cannot know whether the proof was used then.
    #[error("the proof was made before this server started")]
    BeforeStart,
    /// The signature was made with another key, or the proof was changed.
    #[error("the signature of the proof is wrong")]
    BadSignature,
    /// The proof was used before.
    #[error("the proof was used before; the client must make one for each request")]
    Replayed,
}

impl ProofError {
    /// The text for the client: `error_description` of RFC 6750, which has no quotes and backslashes.
    #[must_use]
    pub fn description(&self) -> &'static str {
        match self {
            Self::NotOne => "the request needs one header DPoP with a proof",
            Self::TooLong => "the proof is too long",
            Self::Undecodable => "the proof is no JWT",
            Self::WrongType => "the type of the proof is not dpop+jwt",
            Self::AlgorithmNotAllowed => "the proof is signed with an algorithm that is not accepted",
            Self::CriticalHeader => "the proof has critical header parameters that are not supported",
            Self::NoKey => "the proof needs the public key in jwk",
            Self::OtherKey => "the token is bound to another key",
            Self::ClaimFormat => "the proof needs jti, htm, htu, iat and ath",
            Self::OtherMethod => "the proof is for another method",
            Self::OtherUri => "the proof is for another URI",
            Self::OtherToken => "the proof is for another token",
            Self::NotNow => "the proof is too old or was made in the future",
            Self::BeforeStart => "the proof was made before this server started",
            Self::BadSignature => "the signature of the proof cannot be verified",
            Self::Replayed => "the proof was used before",
        }
    }
}
