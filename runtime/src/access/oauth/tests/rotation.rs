//! Issuers that change their keys, are flooded with requests, or are down.

use super::*;

fn header(kid: &str) -> Value {
    json!({ "alg": "ES256", "kid": kid })
}

fn unavailable(error: TokenError) -> bool {
    matches!(error, TokenError::Unavailable { .. })
}

#[tokio::test]
async fn tokens_of_a_new_key_are_accepted_while_64_clients_call() {
    let world = Arc::new(World::new());
    let old = world.keys.p256.token(header("p256"), &good_claims());
    world.authenticate(&old).await.unwrap();
    let new = Signer::p256();
    world.fake.publish(KEYS_URL, &json!({ "keys": [new.jwk(json!({ "kid": "new" }))] }).to_string());
    let clients: Vec<_> = (0..64)
        .map(|number| {
            let token = new.token(header("new"), &claims_with("sub", json!(format!("client {number}"))));
            let (world, old) = (Arc::clone(&world), old.clone());
            tokio::spawn(async move {
                let known = world.authenticate_at(&old, None, 31).await;
                (known.is_ok(), world.authenticate_at(&token, None, 31).await.is_ok())
            })
        })
        .collect();
    for client in clients {
        assert_eq!(client.await.unwrap(), (true, true));
    }
    assert_eq!(world.fake.count(KEYS_URL), 2, "all waited for one fetch");
    let late = world.keys.p256.token(header("p256"), &claims_with("sub", json!("eve")));
    let rejected = world.authenticate_at(&late, None, 32).await;
    assert_eq!(rejected.unwrap_err(), TokenError::UnknownKey, "the old key is gone");
}

#[tokio::test]
async fn a_flood_of_unknown_keys_causes_two_fetches_in_30_seconds() {
    let world = World::new();
    world.authenticate(&world.token(&good_claims())).await.unwrap();
    // Older than the keys, so that the answer is certain without another fetch.
    let older = claims_with("iat", json!(NOW - 1));
    for second in [0, 29, 30, 59, 60] {
        for number in 0..100 {
            let token = world.keys.p256.token(header(&format!("{second}-{number}")), &older);
            let rejected = world.authenticate_at(&token, None, second).await;
            assert_eq!(rejected.unwrap_err(), TokenError::UnknownKey);
        }
    }
    assert_eq!(world.fake.count(KEYS_URL), 7, "first, and twice at 0, 30 and 60 seconds");
}

#[tokio::test]
async fn a_token_of_a_new_key_is_told_to_wait_while_strangers_use_up_the_fetches() {
    let world = World::new();
    world.authenticate(&world.token(&good_claims())).await.unwrap();
    let new = Signer::p256();
    for number in 0..3 {
        let stranger = world.keys.p256.token(header(&format!("{number}")), &good_claims());
        let rejected = world.authenticate_at(&stranger, None, 40).await;
        assert_eq!(rejected.unwrap_err(), TokenError::UnknownKey);
    }
    world.fake.publish(KEYS_URL, &json!({ "keys": [new.jwk(json!({ "kid": "new" }))] }).to_string());
    let valid = new.token(header("new"), &claims_with("iat", json!(NOW + 41)));
    let rejected = world.authenticate_at(&valid, None, 42).await;
    assert_eq!(rejected.unwrap_err(), TokenError::KeyNotFetched { retry_after: Duration::from_secs(28) });
    assert!(world.authenticate_at(&valid, None, 70).await.is_ok());
}

#[tokio::test]
async fn known_keys_serve_while_the_issuer_is_down() {
    let world = World::new();
    let token = |subject: &str, seconds: u64| {
        let mut claims = claims_with("sub", json!(subject));
        claims["exp"] = json!(NOW + seconds + 300);
        claims
    };
    world.authenticate(&world.token(&good_claims())).await.unwrap();
    world.fake.set_down(true);
    for seconds in [600, 4_000, 40_000, 86_399] {
        let token = world.token(&token("ada", seconds));
        assert!(world.authenticate_at(&token, None, seconds).await.is_ok(), "after {seconds} seconds");
    }
    let late = world.token(&token("ada", 86_400));
    assert!(unavailable(world.authenticate_at(&late, None, 86_400).await.unwrap_err()), "and never: allow");
    world.fake.set_down(false);
    assert!(world.authenticate_at(&late, None, 86_405).await.is_ok());
}

#[tokio::test]
async fn the_server_begins_without_its_issuer() {
    let config = IssuerConfig { jwks: JwksSource::Discover, ..issuer_config() };
    let world = World::with(vec![config]);
    let token = world.token(&good_claims());
    world.fake.set_down(true);
    let error = world.authenticate(&token).await.unwrap_err();
    assert!(unavailable(error) && !error.description().contains("example"), "{error:?}");
    world.fake.set_down(false);
    let metadata = json!({ "issuer": ISSUER, "jwks_uri": KEYS_URL });
    world.fake.publish("https://idp.example.com/.well-known/openid-configuration", &metadata.to_string());
    assert!(unavailable(world.authenticate_at(&token, None, 4).await.unwrap_err()));
    assert!(world.authenticate_at(&token, None, 5).await.is_ok());
}

#[tokio::test]
async fn a_broken_set_of_keys_changes_nothing() {
    let world = World::new();
    world.authenticate(&world.token(&good_claims())).await.unwrap();
    world.fake.publish(KEYS_URL, "<html>502 Bad Gateway</html>");
    let mut claims = claims_with("sub", json!("eve"));
    claims["exp"] = json!(NOW + 10_000);
    assert!(world.authenticate_at(&world.token(&claims), None, 4_000).await.is_ok());
    assert_eq!(world.fake.count(KEYS_URL), 2);
}
