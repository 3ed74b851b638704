//! Valid tokens and their principals.

use data_encoding::BASE64URL_NOPAD;

use super::*;
use crate::access::principal::PrincipalKind;

#[tokio::test]
async fn a_token_of_every_algorithm_is_accepted() {
    use JwtAlgorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
    let algorithms = vec![Rs256, Rs384, Rs512, Ps256, Ps384, Ps512, Es256, Es384, EdDsa];
    let world = World::with(vec![IssuerConfig { algorithms, ..issuer_config() }]);
    let keys = &world.keys;
    for (algorithm, signer, kid) in [
        ("RS256", &keys.rsa, "rsa"),
        ("RS256", &keys.rsa, "rs256-only"),
        ("RS384", &keys.rsa, "rsa"),
        ("RS512", &keys.rsa, "rsa"),
        ("PS256", &keys.rsa, "rsa"),
        ("PS384", &keys.rsa, "rsa"),
        ("PS512", &keys.rsa, "rsa"),
        ("ES256", &keys.p256, "p256"),
        ("ES384", &keys.p384, "p384"),
        ("EdDSA", &keys.ed25519, "ed25519"),
        ("Ed25519", &keys.ed25519, "ed25519"),
    ] {
        for header in [json!({ "alg": algorithm, "kid": kid }), json!({ "alg": algorithm, "typ": "at+jwt" })]
        {
            let accepted = world.authenticate(&signer.token(header, &good_claims())).await;
            assert_eq!(&*accepted.unwrap().subject, "ada", "{algorithm} with {kid}");
        }
    }
}

#[tokio::test]
async fn a_principal_has_what_the_claims_say() {
    let world = World::new();
    let principal = world.authenticate(&world.token(&good_claims())).await.unwrap();
    assert_eq!(&*principal.id, "oauth:https://idp.example.com#ada");
    assert_eq!((principal.kind, principal.issuer.as_deref()), (PrincipalKind::OAuth, Some(ISSUER)));
    assert_eq!((&*principal.subject, principal.client.as_deref()), ("ada", Some("editor")));
    assert_eq!(names(&principal.scopes), ["tools", "tools:write"]);
    assert_eq!(names(&principal.groups), ["analysts", "builders"]);
    assert_eq!(principal.expires, Some(at(300)));
}

#[tokio::test]
async fn a_principal_is_of_the_issuers_that_made_it_and_not_of_later_ones() {
    let (world, later) = (World::new(), World::new());
    let principal = world.authenticate(&world.token(&good_claims())).await.unwrap();
    assert!(world.issuers.holds(&principal) && !later.issuers.holds(&principal));
}

#[tokio::test]
async fn claims_have_several_forms() {
    let world = World::new();
    for (name, value) in [
        ("aud", json!([AUDIENCE, "https://other.example.com"])),
        ("aud", json!("https://tools.example.com/mcp/")),
        ("exp", json!(NOW as f64 + 0.5)),
        ("nbf", json!(NOW + 60)),
        ("iat", json!(NOW + 60)),
        ("nbf", Value::Null),
        ("iat", Value::Null),
        ("scope", Value::Null),
        ("client_id", Value::Null),
        ("groups", Value::Null),
        ("groups", json!("analysts")),
        ("typ", json!("Bearer")),
        ("token_use", json!("access")),
        ("sub", json!("a".repeat(256))),
        ("sub", json!("Ada Lovelace <ada@example.com> é")),
        ("token_type", json!("DPoP")),
    ] {
        let token = world.token(&claims_with(name, value.clone()));
        assert!(world.authenticate(&token).await.is_ok(), "{name}: {value}");
    }
    let scopes = async |scp: Value| {
        let mut claims = claims_with("scope", Value::Null);
        claims["scp"] = scp;
        world.authenticate(&world.token(&claims)).await.unwrap().scopes.clone()
    };
    assert_eq!(names(&scopes(json!("a  b ")).await), ["a", "b"]);
    assert_eq!(names(&scopes(json!(["a", "b"])).await), ["a", "b"]);
    let mut claims = claims_with("client_id", Value::Null);
    claims["azp"] = json!("browser");
    let principal = world.authenticate(&world.token(&claims)).await.unwrap();
    assert_eq!(principal.client.as_deref(), Some("browser"));
}

#[tokio::test]
async fn a_bound_token_is_for_the_client_with_the_certificate() {
    let world = World::new();
    let (own, other) = ([7; 32], [8; 32]);
    let bound = json!({ "x5t#S256": BASE64URL_NOPAD.encode(&own) });
    let token = world.token(&claims_with("cnf", bound));
    for _ in 0..2 {
        assert!(world.authenticate_at(&token, Some(&own), 0).await.is_ok());
        for stolen in [None, Some(&other)] {
            let rejected = world.authenticate_at(&token, stolen, 0).await;
            assert_eq!(rejected.unwrap_err(), TokenError::UnprovenBinding, "also when the token is known");
        }
    }
    let both = json!({ "x5t#S256": BASE64URL_NOPAD.encode(&own), "jkt": "a" });
    let token = world.token(&claims_with("cnf", both));
    let rejected = world.authenticate_at(&token, Some(&own), 0).await;
    assert_eq!(rejected.unwrap_err(), TokenError::UnprovenBinding);
    let free = world.token(&good_claims());
    assert!(world.authenticate_at(&free, Some(&own), 0).await.is_ok());
}

#[tokio::test]
async fn a_known_token_costs_nothing_and_ends_at_its_time() {
    let world = World::new();
    let token = world.token(&good_claims());
    let first = world.authenticate(&token).await.unwrap();
    world.fake.set_down(true);
    let again = world.authenticate_at(&token, None, 299).await.unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(world.authenticate_at(&token, None, 300).await.unwrap_err(), TokenError::Expired);
}

#[tokio::test]
async fn a_token_is_read_by_its_own_issuer() {
    let second = IssuerConfig {
        issuer: "https://second.example.com".to_owned(),
        jwks: JwksSource::Url(Endpoint::parse("https://second.example.com/keys").unwrap()),
        ..issuer_config()
    };
    let world = World::with(vec![issuer_config(), second]);
    let keys = TestKeys::new();
    world.fake.publish("https://second.example.com/keys", &keys.jwks().to_string());
    let claims = claims_with("iss", json!("https://second.example.com"));
    let header = || json!({ "alg": "ES256", "kid": "p256" });
    let principal = world.authenticate(&keys.p256.token(header(), &claims)).await.unwrap();
    assert_eq!(&*principal.id, "oauth:https://second.example.com#ada");
    let forged = world.authenticate(&world.keys.p256.token(header(), &claims)).await;
    assert_eq!(
        forged.unwrap_err(),
        TokenError::BadSignature,
        "the first one signs nothing for the second one"
    );
}
