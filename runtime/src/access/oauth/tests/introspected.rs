//! Tokens that only their issuer can read.

use super::*;
use crate::config::{Config, OAuthClient};

const INTROSPECTION_URL: &str = "https://idp.example.com/introspect";
const METADATA_URL: &str = "https://idp.example.com/.well-known/oauth-authorization-server";

/// The credentials come from a parsed configuration, because no other code can make a secret.
fn client() -> OAuthClient {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "s&cret").unwrap();
    let text = format!(
        "[auth]\nresource = {AUDIENCE:?}\n[[auth.issuers]]\nissuer = {ISSUER:?}\n\
         introspection = {{ client_id = \"plug port\", secret = {{ file = \"secret\" }} }}\n"
    );
    let file = dir.path().join("plugport.toml");
    std::fs::write(&file, text).unwrap();
    let auth = Config::read(&file, dir.path().join("plugins")).unwrap().auth.unwrap();
    auth.issuers[0].introspection.clone().unwrap()
}

fn world_with(jwks: JwksSource) -> World {
    let config = IssuerConfig { jwks, introspection: Some(client()), ..issuer_config() };
    let world = World::with(vec![config]);
    let metadata =
        json!({ "issuer": ISSUER, "introspection_endpoint": INTROSPECTION_URL, "jwks_uri": KEYS_URL });
    world.fake.publish(METADATA_URL, &metadata.to_string());
    world
}

fn active_with(name: &str, value: Value) -> String {
    let mut claims = claims_with(name, value);
    claims["active"] = json!(true);
    claims.to_string()
}

fn active() -> String {
    active_with("token_type", json!("Bearer"))
}

#[tokio::test]
async fn an_opaque_token_is_what_its_issuer_says() {
    let world = world_with(JwksSource::Discover);
    world.fake.say("opaque", &active());
    let principal = world.authenticate("opaque").await.unwrap();
    assert_eq!((&*principal.id, principal.expires), ("oauth:https://idp.example.com#ada", Some(at(300))));
    assert_eq!(names(&principal.scopes), ["tools", "tools:write"]);
    // `plug+port:s%26cret`: each part is a form's value before it is joined.
    assert_eq!(world.fake.authorizations(), ["Basic cGx1Zytwb3J0OnMlMjZjcmV0"]);
    assert!(world.authenticate(&world.token(&good_claims())).await.is_ok(), "a JWT is verified here");
    assert_eq!(world.fake.count(INTROSPECTION_URL), 1);
}

#[tokio::test]
async fn a_revoked_token_ends_within_60_seconds_and_a_bad_one_is_asked_about_every_5() {
    let world = world_with(JwksSource::Discover);
    world.fake.say("opaque", &active());
    world.authenticate("opaque").await.unwrap();
    world.fake.say("opaque", "{\"active\":false}");
    assert!(world.authenticate_at("opaque", None, 59).await.is_ok());
    for second in [60, 61, 64] {
        let rejected = world.authenticate_at("opaque", None, second).await;
        assert_eq!(rejected.unwrap_err(), TokenError::Inactive);
    }
    assert_eq!(world.fake.count(INTROSPECTION_URL), 2);
    world.fake.say("opaque", &active());
    assert!(world.authenticate_at("opaque", None, 65).await.is_ok());
    world.fake.say("short", &active_with("exp", json!(NOW + 10)));
    assert!(world.authenticate_at("short", None, 0).await.is_ok());
    assert_eq!(world.authenticate_at("short", None, 10).await.unwrap_err(), TokenError::Expired);
}

#[tokio::test]
async fn many_requests_with_one_token_ask_once() {
    let world = Arc::new(world_with(JwksSource::Discover));
    world.fake.say("opaque", &active());
    let requests: Vec<_> = (0..64)
        .map(|number| {
            let world = Arc::clone(&world);
            let token = if number % 2 == 0 { "opaque" } else { "unknown" };
            tokio::spawn(async move { world.authenticate(token).await.is_ok() })
        })
        .collect();
    for (number, request) in requests.into_iter().enumerate() {
        assert_eq!(request.await.unwrap(), number % 2 == 0);
    }
    assert_eq!((world.fake.count(INTROSPECTION_URL), world.fake.count(METADATA_URL)), (2, 1));
}

#[tokio::test]
async fn what_an_issuer_says_is_checked_like_a_token() {
    let world = world_with(JwksSource::Discover);
    for (token, response, expected) in [
        ("a", active_with("aud", Value::Null), TokenError::MissingAudience),
        ("b", active_with("aud", json!("https://other.example.com")), TokenError::WrongAudience),
        ("c", active_with("iss", json!("https://other.example.com")), TokenError::UnknownIssuer),
        ("d", active_with("exp", json!(NOW - 1)), TokenError::Expired),
        ("e", active_with("token_type", json!("DPoP")), TokenError::UnprovenBinding),
        ("f", active_with("cnf", json!({ "jkt": "a" })), TokenError::UnprovenBinding),
        ("g", active_with("typ", json!("Refresh")), TokenError::WrongType),
        (
            "h",
            active_with("active", json!("true")).replace("\"active\":true", "\"active\":\"true\""),
            TokenError::Inactive,
        ),
        ("i", "{\"sub\":\"ada\"}".to_owned(), TokenError::Inactive),
    ] {
        world.fake.say(token, &response);
        assert_eq!(world.authenticate(token).await.unwrap_err(), expected, "{response}");
    }
    for (token, name) in [("j", "exp"), ("k", "iss"), ("l", "sub"), ("m", "token_type")] {
        world.fake.say(token, &active_with(name, Value::Null));
        assert!(world.authenticate(token).await.is_ok(), "{name} may be left out");
    }
    let client = world.authenticate("l").await.unwrap();
    assert_eq!(&*client.id, "oauth:https://idp.example.com#editor", "it acts for itself");
}

#[tokio::test]
async fn an_issuer_says_what_an_opaque_token_is_bound_to() {
    let world = world_with(JwksSource::Discover);
    let thumbprint = json!({ "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" });
    for (token, kind) in [("a", json!("DPoP")), ("b", json!("Bearer")), ("c", Value::Null)] {
        let mut claims: Value = serde_json::from_str(&active_with("cnf", thumbprint.clone())).unwrap();
        if !kind.is_null() {
            claims["token_type"] = kind;
        }
        world.fake.say(token, &claims.to_string());
        assert_eq!(world.authenticate(token).await.unwrap_err(), TokenError::MissingProof, "{claims}");
    }
    world.fake.say("d", &active_with("token_type", json!("mac")));
    assert_eq!(world.authenticate("d").await.unwrap_err(), TokenError::UnprovenBinding);
}

#[tokio::test]
async fn nobody_knows_a_token_while_the_issuer_is_down() {
    let world = world_with(JwksSource::Discover);
    world.fake.say("opaque", &active());
    world.fake.set_down(true);
    let error = world.authenticate("opaque").await.unwrap_err();
    assert!(matches!(error, TokenError::Unavailable { .. }), "{error:?}");
    world.fake.set_down(false);
    assert!(world.authenticate_at("opaque", None, 5).await.is_ok(), "and nothing is remembered of that");
    world.fake.say("broken", "<html>");
    let error = world.authenticate_at("broken", None, 5).await.unwrap_err();
    assert!(matches!(error, TokenError::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn an_issuer_without_keys_is_asked_about_every_token() {
    let world = world_with(JwksSource::None);
    let token = world.token(&good_claims());
    assert_eq!(world.authenticate(&token).await.unwrap_err(), TokenError::Inactive, "it was revoked");
    let other = world.token(&claims_with("sub", json!("bob")));
    world.fake.say(&other, &active());
    assert!(world.authenticate(&other).await.is_ok());
    assert_eq!(world.fake.count(KEYS_URL), 0);
}

#[tokio::test]
async fn issuers_are_asked_in_their_order_until_one_knows_the_token() {
    let second = IssuerConfig {
        issuer: "https://second.example.com".to_owned(),
        introspection: Some(client()),
        ..issuer_config()
    };
    let first = IssuerConfig { introspection: Some(client()), ..issuer_config() };
    let world = World::with(vec![first, second]);
    let metadata =
        json!({ "issuer": "https://second.example.com", "introspection_endpoint": INTROSPECTION_URL });
    let url = "https://second.example.com/.well-known/oauth-authorization-server";
    world.fake.publish(url, &metadata.to_string());
    world.fake.say("opaque", &active_with("iss", Value::Null));
    let principal = world.authenticate("opaque").await.unwrap();
    assert_eq!(&*principal.id, "oauth:https://second.example.com#ada");
    let unknown = world.authenticate("unknown").await.unwrap_err();
    assert!(
        matches!(unknown, TokenError::Unavailable { .. }),
        "the first one, without metadata, may know it"
    );
}

#[tokio::test]
async fn a_flood_of_inventions_from_one_address_leaves_the_issuer_to_others() {
    let world = Arc::new(world_with(JwksSource::Discover));
    world.fake.say("opaque", &active());
    world.fake.say("later", &active());
    world.authenticate_from([192, 0, 2, 1], "opaque").await.unwrap();
    let flood: Vec<_> = (0..500)
        .map(|number| {
            let world = Arc::clone(&world);
            let token = format!("invention{number}");
            tokio::spawn(async move { world.authenticate_from([192, 0, 2, 1], &token).await.unwrap_err() })
        })
        .collect();
    assert!(world.authenticate_from([192, 0, 2, 2], "later").await.is_ok(), "another address gets its turn");
    assert!(
        world.authenticate_from([192, 0, 2, 1], "opaque").await.is_ok(),
        "a token that is known needs none"
    );
    let mut held_back = 0;
    for invention in flood {
        held_back += usize::from(matches!(invention.await.unwrap(), TokenError::Unavailable { .. }));
    }
    assert!(held_back > 400, "{held_back}");
    assert!(world.fake.count(INTROSPECTION_URL) < 100, "{}", world.fake.count(INTROSPECTION_URL));
}
