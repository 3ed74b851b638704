//! Functions for the fuzz targets in `tests/fuzz`: access tokens and DPoP proofs. They are hidden and always compiled:
//! a cargo feature would make the tests build this package twice, and unused functions cost nothing.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};

use super::claims::{self, ClaimSource};
use super::expiring_map::Digest;
use super::jwks::KeySet;
use super::jwt::Jwt;
use super::{ClientProofs, DpopRequest, ProofVerifier, check_syntax, strict_json};
use crate::config::{IssuerConfig, JsonPointer, JwksSource, JwtAlgorithm};

const ISSUER: &str = "https://idp.example.com";

/// Keys of RFC 7517 (appendix A.1) and RFC 8037 (appendix A.2): no input of a fuzzer is signed with them by chance.
const KEYS: &str = r#"{"keys":[
    {"kty":"EC","crv":"P-256","kid":"1","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
     "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"},
    {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

static CONFIG: LazyLock<IssuerConfig> = LazyLock::new(|| IssuerConfig {
    issuer: ISSUER.to_owned(),
    audiences: vec!["https://tools.example.com/mcp".to_owned()],
    jwks: JwksSource::Discover,
    algorithms: vec![JwtAlgorithm::Es256, JwtAlgorithm::EdDsa],
    strict_type: false,
    introspection: None,
    groups: JsonPointer::parse("/groups"),
    client: None,
});

/// What the parsers made of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuzzedToken {
    /// Whether the input was accepted as a token of an issuer whose private keys the fuzzer does not have. Must never
    /// be true.
    pub is_accepted: bool,
    /// The principal, if the input is read as claims of an issuer.
    pub principal: Option<FuzzedPrincipal>,
    /// Whether the input is a JSON Web Key Set.
    pub is_key_set: bool,
}

/// A principal, with everything in it that its token determines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuzzedPrincipal {
    /// Its id.
    pub id: String,
    /// The OAuth client.
    pub client: Option<String>,
    /// The scopes.
    pub scopes: Vec<String>,
    /// The groups.
    pub groups: Vec<String>,
}

/// Parses an input as a token, as claims and as keys, at the fixed time 2026-01-01.
#[must_use]
pub fn fuzz_token(bytes: &[u8]) -> FuzzedToken {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let issuer: Arc<str> = ISSUER.into();
    let claims = strict_json::object(bytes).ok().map(serde_json::Value::Object);
    let bound =
        claims.and_then(|claims| claims::principal(&claims, ClaimSource::Jwt, &CONFIG, &issuer, now).ok());
    // A client that sends no proofs.
    let digest = Digest::default();
    let shown = ClientProofs { token: &digest, certificate: None, dpop: None };
    let verifier = ProofVerifier::new(now);
    let principal = bound.and_then(|bound| bound.for_client(&shown, &verifier, now).ok());
    FuzzedToken {
        is_accepted: is_accepted(bytes),
        principal: principal.map(|principal| FuzzedPrincipal {
            id: principal.id.to_string(),
            client: principal.client.as_deref().map(str::to_owned),
            scopes: texts(&principal.scopes),
            groups: texts(&principal.groups),
        }),
        is_key_set: KeySet::parse(bytes).is_ok(),
    }
}

fn texts(texts: &[Box<str>]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn is_accepted(bytes: &[u8]) -> bool {
    let Ok(token) = std::str::from_utf8(bytes) else { return false };
    let (Ok(()), Ok(Some(jwt))) = (check_syntax(token), Jwt::parse(token)) else { return false };
    let Ok(keys) = KeySet::parse(KEYS.as_bytes()) else { return false };
    let verified = jwt.check_header(&CONFIG).and_then(|header| jwt.verify(header, &keys));
    verified.is_ok()
}

/// Parses an input as a DPoP proof for the request in the example of RFC 9449 (7.1), with the key of the example.
/// Returns whether the proof was accepted.
#[must_use]
pub fn fuzz_dpop_proof(bytes: &[u8]) -> bool {
    let Ok(proof) = std::str::from_utf8(bytes) else { return false };
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_562_262_618);
    let token = Sha256::digest(b"Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU").into();
    let Ok(key) = BASE64URL_NOPAD.decode(b"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I") else {
        return false;
    };
    let Ok(key) = Digest::try_from(key) else { return false };
    let targets = ["https://resource.example.org/protectedresource".to_owned()];
    let request = DpopRequest { proof: Some(proof), method: "GET", targets: &targets };
    ProofVerifier::new(now).verify(request, &token, &key, &"fuzzer".into(), now).is_ok()
}
