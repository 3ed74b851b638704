//! Tests of whole tokens against a fake authorization server.

mod bound_tokens;
pub(crate) mod fake_fetch;
mod forged_claims;
mod forged_tokens;
mod good_tokens;
mod introspected;
mod rotation;
pub(crate) mod signer;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::fetch::Fetch;
use super::{ClientProofs, Issuers, ProofVerifier, TokenError, check_syntax};
use crate::access::client_network::ClientNetwork;
use crate::access::principal::Principal;
use crate::config::{AuthConfig, Endpoint, IssuerConfig, JsonPointer, JwksSource, JwtAlgorithm};
use fake_fetch::FakeFetch;
use signer::{Signer, TestKeys};

const ISSUER: &str = "https://idp.example.com";
const AUDIENCE: &str = "https://tools.example.com/mcp";
const KEYS_URL: &str = "https://idp.example.com/keys";

/// When the tests happen, seconds since 1970.
const NOW: u64 = 1_800_000_000;

/// A resource server, its fake authorization server, and the keys of that.
struct World {
    issuers: Arc<Issuers>,
    proofs: ProofVerifier,
    fake: Arc<FakeFetch>,
    keys: TestKeys,
}

/// An issuer with keys at a URL.
fn issuer_config() -> IssuerConfig {
    IssuerConfig {
        issuer: ISSUER.to_owned(),
        audiences: vec![AUDIENCE.to_owned()],
        jwks: JwksSource::Url(Endpoint::parse(KEYS_URL).unwrap()),
        algorithms: vec![JwtAlgorithm::Rs256, JwtAlgorithm::Ps256, JwtAlgorithm::Es256, JwtAlgorithm::EdDsa],
        strict_type: false,
        introspection: None,
        groups: JsonPointer::parse("/groups"),
        client: None,
    }
}

impl World {
    fn new() -> Self {
        Self::with(vec![issuer_config()])
    }

    fn with(issuers: Vec<IssuerConfig>) -> Self {
        let fake = Arc::new(FakeFetch::default());
        let keys = TestKeys::new();
        fake.publish(KEYS_URL, &keys.jwks().to_string());
        let config = AuthConfig { issuers, ..AuthConfig::default() };
        let fetcher: Arc<dyn Fetch> = fake.clone();
        let issuers = Arc::new(Issuers::with_fetcher(&config, &fetcher));
        Self { issuers, proofs: ProofVerifier::new(at(0)), fake, keys }
    }

    async fn authenticate(&self, token: &str) -> Result<Arc<Principal>, TokenError> {
        self.authenticate_at(token, None, 0).await
    }

    /// Authenticates with a client certificate, some seconds after [`NOW`].
    async fn authenticate_at(
        &self,
        token: &str,
        certificate: Option<&[u8; 32]>,
        seconds: u64,
    ) -> Result<Arc<Principal>, TokenError> {
        self.authenticate_as(ClientNetwork::of(None), token, certificate, seconds).await
    }

    /// Authenticates a request from an address.
    async fn authenticate_from(&self, address: [u8; 4], token: &str) -> Result<Arc<Principal>, TokenError> {
        self.authenticate_as(ClientNetwork::of(Some(address.into())), token, None, 0).await
    }

    async fn authenticate_as(
        &self,
        client: ClientNetwork,
        token: &str,
        certificate: Option<&[u8; 32]>,
        seconds: u64,
    ) -> Result<Arc<Principal>, TokenError> {
        check_syntax(token)?;
        let (digest, now) = (digest(token), at(seconds));
        let bound = self.issuers.authenticate(token, &digest, client, now).await?;
        bound.for_client(&ClientProofs { token: &digest, certificate, dpop: None }, &self.proofs, now)
    }

    /// A token of ECDSA with these claims.
    fn token(&self, claims: &Value) -> String {
        self.keys.p256.token(json!({ "alg": "ES256", "kid": "p256", "typ": "at+jwt" }), claims)
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW + seconds)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn names(names: &[Box<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

/// The claims of a good token.
fn good_claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "client_id": "editor", "scope": "tools tools:write",
        "iat": NOW, "nbf": NOW, "exp": NOW + 300, "groups": ["analysts", "builders"],
    })
}

/// The claims of a good token with another value; `null` removes the claim.
fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = good_claims();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

/// Tokens that are rejected, each with the error.
type Forged = Vec<(&'static str, String, TokenError)>;

async fn assert_rejected(world: &World, forged: &Forged) {
    for (name, token, expected) in forged {
        let result = world.authenticate(token).await;
        assert_eq!(result.map(|principal| principal.id.to_string()), Err(*expected), "{name}: {token}");
    }
}
