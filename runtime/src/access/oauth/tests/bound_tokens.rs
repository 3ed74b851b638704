//! Tokens that are bound to a key, to a client certificate, or to both.

use data_encoding::BASE64URL_NOPAD;

use super::*;
use crate::access::oauth::{DpopRequest, ProofError};

/// The key of a client, and the thumbprint of the key as `cnf` has it.
struct Holder {
    key: Signer,
    thumbprint: String,
}

impl Holder {
    fn new() -> Self {
        let key = Signer::ed25519();
        let x = key.jwk(json!({}))["x"].as_str().unwrap().to_owned();
        let members = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}");
        Self { key, thumbprint: BASE64URL_NOPAD.encode(&digest(&members)) }
    }

    fn proof(&self, token: &str, jti: &str) -> String {
        let header = json!({ "typ": "dpop+jwt", "alg": "EdDSA", "jwk": self.key.jwk(json!({})) });
        let ath = BASE64URL_NOPAD.encode(&digest(token));
        let claims = json!({ "jti": jti, "htm": "POST", "htu": AUDIENCE, "iat": NOW, "ath": ath });
        self.key.token(header, &claims)
    }
}

/// Authenticates with the scheme `DPoP`.
async fn with_proof(
    world: &World,
    token: &str,
    proof: &str,
    certificate: Option<&[u8; 32]>,
) -> Result<Arc<Principal>, TokenError> {
    let token_digest = digest(token);
    let bound = world.issuers.authenticate(token, &token_digest, ClientNetwork::of(None), at(0)).await?;
    let targets = [AUDIENCE.to_owned()];
    let dpop = Some(DpopRequest { proof: Some(proof), method: "POST", targets: &targets });
    bound.for_client(&ClientProofs { token: &token_digest, certificate, dpop }, &world.proofs, at(0))
}

#[tokio::test]
async fn a_token_that_is_bound_to_a_key_needs_a_proof_each_time() {
    let (world, holder) = (World::new(), Holder::new());
    let token = world.token(&claims_with("cnf", json!({ "jkt": holder.thumbprint })));
    let proof = holder.proof(&token, "1");
    let principal = with_proof(&world, &token, &proof, None).await.unwrap();
    assert!(&*principal.id == "oauth:https://idp.example.com#ada" && principal.is_dpop_bound);
    let replayed = with_proof(&world, &token, &proof, None).await;
    assert_eq!(replayed.unwrap_err(), TokenError::Proof(ProofError::Replayed));
    assert!(with_proof(&world, &token, &holder.proof(&token, "2"), None).await.is_ok());
    assert_eq!(world.authenticate(&token).await.unwrap_err(), TokenError::MissingProof);
    let thief = Holder::new().proof(&token, "3");
    let stolen = with_proof(&world, &token, &thief, None).await;
    assert_eq!(stolen.unwrap_err(), TokenError::Proof(ProofError::OtherKey));
    let other = world.token(&claims_with("cnf", json!({ "jkt": holder.thumbprint, "x": 1 })));
    let unknown = with_proof(&world, &other, &holder.proof(&other, "4"), None).await;
    assert_eq!(unknown.unwrap_err(), TokenError::UnprovenBinding);
}

#[tokio::test]
async fn a_token_that_is_not_bound_is_no_token_for_dpop() {
    let (world, holder) = (World::new(), Holder::new());
    let token = world.token(&good_claims());
    let rejected = with_proof(&world, &token, &holder.proof(&token, "1"), None).await;
    assert_eq!(rejected.unwrap_err(), TokenError::NotBound);
    assert!(!world.authenticate(&token).await.unwrap().is_dpop_bound);
}

#[tokio::test]
async fn a_token_that_is_bound_twice_needs_both() {
    let (world, holder, own) = (World::new(), Holder::new(), [7; 32]);
    let both = json!({ "jkt": holder.thumbprint, "x5t#S256": BASE64URL_NOPAD.encode(&own) });
    let token = world.token(&claims_with("cnf", both));
    assert!(with_proof(&world, &token, &holder.proof(&token, "1"), Some(&own)).await.is_ok());
    let rejected = with_proof(&world, &token, &holder.proof(&token, "2"), None).await;
    assert_eq!(rejected.unwrap_err(), TokenError::UnprovenBinding);
    let rejected = world.authenticate_at(&token, Some(&own), 0).await;
    assert_eq!(rejected.unwrap_err(), TokenError::MissingProof);
}
