//! JSON Web Tokens in compact form (RFC 7515, 7519): parsing them, and checking their header and signature.
//!
//! Three steps have a fixed order. Parsing only finds out whether a token is a JWT, and which issuer it names. Then its
//! header is checked against the configuration of that issuer. Then its signature is verified with the issuer's keys;
//! only after that are its claims used. Keys in the header of a token (`jwk`, `jku`, `x5u`, `x5c`) are ignored. A DPoP
//! proof has its key in its header; `dpop` uses the parser here, but checks proofs by its own rules.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};

use super::error::TokenError;
use super::jwks::{KeySet, PublicKey};
use super::strict_json::{self, JsonError};
use crate::config::{IssuerConfig, JwtAlgorithm};

/// A parsed JWT. Nothing in it is verified yet, and nothing of it is shown to anyone.
pub(super) struct Jwt<'t> {
    header: Map<String, Value>,
    /// A JSON object.
    claims: Value,
    /// The signed text: header and claims as they were sent.
    message: &'t str,
    signature: &'t str,
}

/// A header that the configuration of its issuer allows.
#[derive(Clone, Copy)]
pub(super) struct CheckedHeader<'j> {
    pub(super) algorithm: JwtAlgorithm,
    pub(super) kid: Option<&'j str>,
}

impl<'t> Jwt<'t> {
    /// Parses a token. Returns `None` if the token is not a JWT, so that only its issuer can read it.
    pub(super) fn parse(token: &'t str) -> Result<Option<Self>, TokenError> {
        let Some((message, signature)) = token.rsplit_once('.') else { return Ok(None) };
        let Some((header, claims)) = message.split_once('.') else { return Ok(None) };
        let Some(header) = BASE64URL_NOPAD.decode(header.as_bytes()).ok().filter(|text| is_object(text))
        else {
            return Ok(None);
        };
        // A token of five parts is encrypted (JWE). Its header is JSON too.
        if claims.contains('.') {
            return Ok(None);
        }
        let claims = BASE64URL_NOPAD.decode(claims.as_bytes()).map_err(|_| TokenError::Undecodable)?;
        let (header, claims) = (object(&header)?, Value::Object(object(&claims)?));
        Ok(Some(Self { header, claims, message, signature }))
    }

    /// The issuer that the token names, unverified.
    pub(super) fn issuer(&self) -> Result<&str, TokenError> {
        match self.claims.get("iss") {
            Some(Value::String(issuer)) => Ok(issuer),
            Some(_) => Err(TokenError::ClaimFormat),
            None => Err(TokenError::MissingIssuer),
        }
    }

    /// Checks the header against the configuration of the issuer.
    pub(super) fn check_header(&self, config: &IssuerConfig) -> Result<CheckedHeader<'_>, TokenError> {
        let algorithm = self.parameter("alg")?.and_then(JwtAlgorithm::parse);
        let algorithm = algorithm.filter(|algorithm| config.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(TokenError::AlgorithmNotAllowed)?;
        if self.header.contains_key("crit") {
            return Err(TokenError::CriticalHeader);
        }
        self.check_type(config.strict_type)?;
        Ok(CheckedHeader { algorithm, kid: self.parameter("kid")? })
    }

    fn check_type(&self, is_strict: bool) -> Result<(), TokenError> {
        let Some(full) = self.parameter("typ")? else {
            return if is_strict { Err(TokenError::WrongType) } else { Ok(()) };
        };
        // A media type without `application/` (RFC 7515, 4.1.9).
        let full = full.to_ascii_lowercase();
        match full.strip_prefix("application/").unwrap_or(&full) {
            "at+jwt" => Ok(()),
            "jwt" if !is_strict => Ok(()),
            "oauth-id-jag+jwt" => Err(TokenError::IdentityAssertion),
            _ => Err(TokenError::WrongType),
        }
    }

    /// The header, unverified.
    pub(super) fn header(&self) -> &Map<String, Value> {
        &self.header
    }

    /// The claims, unverified. Always an object.
    pub(super) fn unverified_claims(&self) -> &Value {
        &self.claims
    }

    /// Whether the signature was made with this key.
    pub(super) fn is_signed_by(&self, key: &PublicKey, algorithm: JwtAlgorithm) -> bool {
        let signature = BASE64URL_NOPAD.decode(self.signature.as_bytes());
        signature.is_ok_and(|signature| key.verify(algorithm, self.message.as_bytes(), &signature))
    }

    fn parameter(&self, name: &str) -> Result<Option<&str>, TokenError> {
        match self.header.get(name) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(TokenError::HeaderFormat),
            None => Ok(None),
        }
    }

    /// Verifies the signature and returns the claims.
    pub(super) fn verify(&self, header: CheckedHeader<'_>, keys: &KeySet) -> Result<&Value, TokenError> {
        let CheckedHeader { algorithm, kid } = header;
        if !keys.has(kid, algorithm) {
            return Err(TokenError::UnknownKey);
        }
        let signature =
            BASE64URL_NOPAD.decode(self.signature.as_bytes()).map_err(|_| TokenError::Undecodable)?;
        let mut candidates = keys.candidates(kid, algorithm).peekable();
        if candidates.peek().is_none() {
            return Err(TokenError::KeyMismatch);
        }
        let is_signed = candidates.any(|key| key.verify(algorithm, self.message.as_bytes(), &signature));
        if is_signed { Ok(&self.claims) } else { Err(TokenError::BadSignature) }
    }
}

/// Whether a text can only be a JSON object.
fn is_object(text: &[u8]) -> bool {
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

fn object(text: &[u8]) -> Result<Map<String, Value>, TokenError> {
    strict_json::object(text).map_err(|error| match error {
        JsonError::NoObject => TokenError::Undecodable,
        JsonError::AmbiguousName => TokenError::AmbiguousName,
    })
}
