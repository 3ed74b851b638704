//! Tokens with a valid signature whose claims are wrong: for another server, for another time, or not for access.

use super::*;

/// A claim with a value that is rejected; `null` stands for a missing claim.
type WrongClaims = Vec<(&'static str, Value, TokenError)>;

fn wrong_times() -> WrongClaims {
    vec![
        ("exp", Value::Null, TokenError::MissingExpiry),
        ("exp", json!(NOW - 1), TokenError::Expired),
        ("exp", json!(NOW), TokenError::Expired),
        ("exp", json!(NOW as f64 - 0.5), TokenError::Expired),
        ("exp", json!(0), TokenError::Expired),
        ("exp", json!("2099-01-01"), TokenError::ClaimFormat),
        ("exp", json!((NOW + 300).to_string()), TokenError::ClaimFormat),
        ("exp", json!(-1), TokenError::ClaimFormat),
        ("exp", json!(1e300), TokenError::ClaimFormat),
        ("exp", json!(u64::MAX), TokenError::ClaimFormat),
        ("exp", json!([NOW + 300]), TokenError::ClaimFormat),
        ("exp", json!(true), TokenError::ClaimFormat),
        ("nbf", json!(NOW + 61), TokenError::NotYetValid),
        ("nbf", json!("soon"), TokenError::ClaimFormat),
        ("iat", json!(NOW + 61), TokenError::IssuedInFuture),
        ("iat", json!({}), TokenError::ClaimFormat),
    ]
}

fn wrong_names() -> WrongClaims {
    vec![
        ("iss", Value::Null, TokenError::MissingIssuer),
        ("iss", json!("https://idp.example.org"), TokenError::UnknownIssuer),
        ("iss", json!("https://idp.example.com/"), TokenError::UnknownIssuer),
        ("iss", json!("https://IDP.example.com"), TokenError::UnknownIssuer),
        ("iss", json!("https://idp.example.com.evil.test"), TokenError::UnknownIssuer),
        ("iss", json!(""), TokenError::UnknownIssuer),
        ("iss", json!([ISSUER]), TokenError::ClaimFormat),
        ("aud", Value::Null, TokenError::MissingAudience),
        ("aud", json!("https://other.example.com/mcp"), TokenError::WrongAudience),
        ("aud", json!("https://tools.example.com"), TokenError::WrongAudience),
        ("aud", json!("https://tools.example.com/mcp2"), TokenError::WrongAudience),
        ("aud", json!("https://tools.example.com/mcp//"), TokenError::WrongAudience),
        ("aud", json!("https://tools.example.com/MCP"), TokenError::WrongAudience),
        ("aud", json!([]), TokenError::WrongAudience),
        ("aud", json!(["a", "b"]), TokenError::WrongAudience),
        ("aud", json!([AUDIENCE, 1]), TokenError::ClaimFormat),
        ("aud", json!({ "a": AUDIENCE }), TokenError::ClaimFormat),
        ("sub", Value::Null, TokenError::MissingSubject),
        ("sub", json!(""), TokenError::ClaimFormat),
        ("sub", json!("a".repeat(257)), TokenError::ClaimFormat),
        ("sub", json!("ada\n"), TokenError::ClaimFormat),
        ("sub", json!("ada\u{0}"), TokenError::ClaimFormat),
        ("sub", json!("ada\u{85}"), TokenError::ClaimFormat),
        ("sub", json!("a\u{200b}da"), TokenError::ClaimFormat),
        ("sub", json!("\u{202e}ada"), TokenError::ClaimFormat),
        ("sub", json!("ada\u{fe0f}"), TokenError::ClaimFormat),
        ("sub", json!("ada "), TokenError::ClaimFormat),
        ("sub", json!(1), TokenError::ClaimFormat),
        ("client_id", json!(1), TokenError::ClaimFormat),
        ("client_id", json!("a".repeat(257)), TokenError::ClaimFormat),
        ("client_id", json!(" editor"), TokenError::ClaimFormat),
    ]
}

fn wrong_purposes() -> WrongClaims {
    vec![
        ("nonce", json!("n-0S6_WzA2Mj"), TokenError::IdToken),
        ("at_hash", json!("MTIzNDU2Nzg5MDEyMzQ1Ng"), TokenError::IdToken),
        ("c_hash", json!("MTIzNDU2Nzg5MDEyMzQ1Ng"), TokenError::IdToken),
        ("aud", json!("editor"), TokenError::IdToken),
        ("aud", json!(["editor"]), TokenError::IdToken),
        ("client_id", json!(AUDIENCE), TokenError::IdToken),
        ("token_use", json!("id"), TokenError::WrongType),
        ("token_use", json!("refresh_token"), TokenError::WrongType),
        ("typ", json!("Refresh"), TokenError::WrongType),
        ("typ", json!("ID"), TokenError::WrongType),
        ("cnf", json!({ "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" }), TokenError::MissingProof),
        ("cnf", json!({ "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4" }), TokenError::UnprovenBinding),
        ("cnf", json!({ "jkt": Value::Null }), TokenError::UnprovenBinding),
        (
            "cnf",
            json!({ "x5t#S256": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" }),
            TokenError::UnprovenBinding,
        ),
        ("cnf", json!({ "x5t#S256": "AA" }), TokenError::UnprovenBinding),
        ("cnf", json!({ "x5t#S256": 1 }), TokenError::UnprovenBinding),
        ("cnf", json!({ "jwk": {} }), TokenError::UnprovenBinding),
        ("cnf", json!({}), TokenError::UnprovenBinding),
        ("cnf", json!("proven"), TokenError::UnprovenBinding),
        ("cnf", json!([]), TokenError::UnprovenBinding),
    ]
}

fn wrong_rights() -> WrongClaims {
    let many = |count: usize| (0..count).map(|number| format!("n{number}")).collect::<Vec<_>>();
    vec![
        ("scope", json!(["tools"]), TokenError::ClaimFormat),
        ("scope", json!("tools \"x\""), TokenError::ClaimFormat),
        ("scope", json!("tools\nadmin"), TokenError::ClaimFormat),
        ("scope", json!("a".repeat(257)), TokenError::ClaimFormat),
        ("scope", json!(many(257).join(" ")), TokenError::TooManyScopes),
        ("groups", json!(many(65)), TokenError::TooManyGroups),
        ("groups", json!(1), TokenError::ClaimFormat),
        ("groups", json!({}), TokenError::ClaimFormat),
        ("groups", json!(["a", 1]), TokenError::ClaimFormat),
        ("groups", json!(["a", ""]), TokenError::ClaimFormat),
        ("groups", json!(["a\u{7f}"]), TokenError::ClaimFormat),
        ("groups", json!(["a", "b\u{feff}"]), TokenError::ClaimFormat),
        ("groups", json!(["a", "b "]), TokenError::ClaimFormat),
        ("groups", json!(["a".repeat(257)]), TokenError::ClaimFormat),
    ]
}

#[tokio::test]
async fn tokens_with_wrong_claims_are_rejected_each_for_its_fault() {
    let world = World::new();
    let wrong = [wrong_times(), wrong_names(), wrong_purposes(), wrong_rights()].concat();
    assert!(wrong.len() >= 70, "{}", wrong.len());
    let sign = |(name, value, error): (&'static str, Value, TokenError)| {
        (name, world.token(&claims_with(name, value)), error)
    };
    assert_rejected(&world, &wrong.into_iter().map(sign).collect()).await;
    assert!(
        world.authenticate(&world.token(&good_claims())).await.is_ok(),
        "the others are for their faults"
    );
}

#[tokio::test]
async fn a_null_is_a_claim_of_the_wrong_type() {
    let world = World::new();
    for (name, error) in [
        ("exp", TokenError::ClaimFormat),
        ("nbf", TokenError::ClaimFormat),
        ("sub", TokenError::ClaimFormat),
        ("aud", TokenError::ClaimFormat),
        ("iss", TokenError::ClaimFormat),
        ("cnf", TokenError::UnprovenBinding),
        ("nonce", TokenError::IdToken),
        ("groups", TokenError::ClaimFormat),
        ("scp", TokenError::ClaimFormat),
    ] {
        let mut claims = good_claims();
        claims.as_object_mut().unwrap().remove("scope");
        claims[name] = Value::Null;
        assert_eq!(world.authenticate(&world.token(&claims)).await.unwrap_err(), error, "{name}");
    }
}

#[tokio::test]
async fn groups_by_reference_are_not_no_groups() {
    let world = World::new();
    let mut claims = claims_with("groups", Value::Null);
    claims["_claim_names"] = json!({ "groups": "src1" });
    let rejected = world.authenticate(&world.token(&claims)).await;
    assert_eq!(rejected.unwrap_err(), TokenError::TooManyGroups);
}
