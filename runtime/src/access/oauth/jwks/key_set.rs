//! All keys of an issuer (RFC 7517), and the choice of those that may have signed a token.

use serde_json::Value;

use super::public_key::PublicKey;
use crate::access::oauth::strict_json::{self, JsonError};
use crate::config::JwtAlgorithm;

/// Maximum number of keys of one issuer.
const MAX_KEYS: usize = 100;

/// Maximum number of keys that are tried for a token without a `kid`.
const MAX_TRIED: usize = 4;

/// The keys of an issuer.
#[derive(Debug)]
pub(in crate::access::oauth) struct KeySet(Vec<PublicKey>);

/// Why a document is not a JSON Web Key Set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::access::oauth) enum KeySetError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("it is no JSON Web Key Set, an object with `keys`")]
    NoKeys,
    #[error("it has more than 100 keys")]
    TooManyKeys,
}

impl KeySet {
    /// Parses a key set. Keys that cannot verify signatures are omitted.
    pub(in crate::access::oauth) fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        let document = strict_json::object(text)?;
        let keys = document.get("keys").and_then(Value::as_array).ok_or(KeySetError::NoKeys)?;
        if keys.len() > MAX_KEYS {
            return Err(KeySetError::TooManyKeys);
        }
        Ok(Self(keys.iter().filter_map(|key| PublicKey::read(key.as_object()?)).collect()))
    }

    /// Whether a key has this `kid`. Without a `kid`: whether a key is for the algorithm.
    pub(in crate::access::oauth) fn has(&self, kid: Option<&str>, algorithm: JwtAlgorithm) -> bool {
        self.0.iter().any(|key| key.is_named(kid) && (kid.is_some() || key.fits(algorithm)))
    }

    /// Returns the keys that may have signed a token with this `kid` and algorithm.
    pub(in crate::access::oauth) fn candidates(
        &self,
        kid: Option<&str>,
        algorithm: JwtAlgorithm,
    ) -> impl Iterator<Item = &PublicKey> {
        self.0.iter().filter(move |key| key.is_named(kid) && key.fits(algorithm)).take(MAX_TRIED)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(kid: &str) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "A".repeat(43), "kid": kid })
    }

    #[test]
    fn a_key_is_chosen_by_its_id_and_its_algorithm() {
        let mut keys: Vec<Value> = (0..6).map(|number| key(&number.to_string())).collect();
        keys.push(json!({ "kty": "oct", "k": "AAAA", "kid": "secret" }));
        keys.push(json!("no key"));
        let set = KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap();
        let count = |kid, algorithm| set.candidates(kid, algorithm).count();
        assert_eq!(count(Some("3"), JwtAlgorithm::EdDsa), 1);
        assert_eq!(count(Some("3"), JwtAlgorithm::Es256), 0);
        assert_eq!(count(Some("secret"), JwtAlgorithm::EdDsa), 0);
        assert_eq!(count(None, JwtAlgorithm::EdDsa), MAX_TRIED);
        assert!(set.has(Some("3"), JwtAlgorithm::Es256) && !set.has(Some("secret"), JwtAlgorithm::EdDsa));
        assert!(set.has(None, JwtAlgorithm::EdDsa) && !set.has(None, JwtAlgorithm::Es256));
    }

    #[test]
    fn a_set_is_bounded_and_has_keys() {
        let set = |count: usize| json!({ "keys": vec![key("a"); count] }).to_string();
        assert!(KeySet::parse(set(MAX_KEYS).as_bytes()).is_ok());
        assert_eq!(KeySet::parse(set(MAX_KEYS + 1).as_bytes()).unwrap_err(), KeySetError::TooManyKeys);
        assert!(KeySet::parse(b"{\"keys\":[]}").is_ok());
        assert_eq!(KeySet::parse(b"{}").unwrap_err(), KeySetError::NoKeys);
        assert_eq!(KeySet::parse(b"[]").unwrap_err(), KeySetError::Json(JsonError::NoObject));
        let twice = KeySet::parse(b"{\"keys\":[],\"keys\":[]}").unwrap_err();
        assert_eq!(twice, KeySetError::Json(JsonError::AmbiguousName));
    }
}
