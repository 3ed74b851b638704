//! Tokens that are broken, or signed with a key that the issuer does not publish.

use data_encoding::BASE64URL_NOPAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};

use super::*;

/// The parts of a token in base64url.
fn joined(parts: &[&[u8]]) -> String {
    parts.iter().map(|part| BASE64URL_NOPAD.encode(part)).collect::<Vec<_>>().join(".")
}

/// A token whose claims are this text.
fn with_text(world: &World, claims: &[u8]) -> String {
    world.keys.p256.sign("ES256", r#"{"alg":"ES256","kid":"p256"}"#, claims)
}

/// A token whose header is this text.
fn with_header(world: &World, header: &str) -> String {
    world.keys.p256.sign("ES256", header, good_claims().to_string().as_bytes())
}

fn malformed() -> Forged {
    vec![
        ("nothing", String::new(), TokenError::Malformed),
        ("two words", "a b".to_owned(), TokenError::Malformed),
        ("not ASCII", "tök".to_owned(), TokenError::Malformed),
        ("a quote", "a\"b".to_owned(), TokenError::Malformed),
        ("a line end", "a\n".to_owned(), TokenError::Malformed),
        ("padding alone", "==".to_owned(), TokenError::Malformed),
        ("padding within", "e30=.e30=.AA".to_owned(), TokenError::Malformed),
        ("too long", "a".repeat((16 << 10) + 1), TokenError::TooLong),
        ("opaque", "dGhlIHRva2Vu".to_owned(), TokenError::Unknown),
        ("two parts", "e30.e30".to_owned(), TokenError::Unknown),
        ("no header", joined(&[b"x", b"{}", b"x"]), TokenError::Unknown),
        ("a list as header", joined(&[b"[]", b"{}", b"x"]), TokenError::Unknown),
        ("encrypted", joined(&[b"{\"alg\":\"RSA-OAEP\"}", b"k", b"i", b"c", b"t"]), TokenError::Unknown),
        ("only dots", "..".to_owned(), TokenError::Unknown),
    ]
}

fn undecodable(world: &World) -> Forged {
    let header = BASE64URL_NOPAD.encode(br#"{"alg":"ES256","kid":"p256"}"#);
    let whole = world.token(&good_claims());
    let message = whole.rsplit_once('.').unwrap().0;
    vec![
        ("broken header", joined(&[b"{\"alg\":", b"{}", b"x"]), TokenError::Undecodable),
        ("claims not base64", format!("{header}.A.AA"), TokenError::Undecodable),
        ("claims in base64", format!("{header}.e30+.AA"), TokenError::Undecodable),
        ("signature not base64", format!("{message}.A"), TokenError::Undecodable),
        ("signature with spare bits", format!("{}x", &whole[..whole.len() - 1]), TokenError::Undecodable),
        ("no claims", with_text(world, b""), TokenError::Undecodable),
        ("claims not JSON", with_text(world, b"sub=ada"), TokenError::Undecodable),
        ("a list of claims", with_text(world, b"[]"), TokenError::Undecodable),
        ("two objects", with_text(world, b"{}{}"), TokenError::Undecodable),
        ("not UTF-8", with_text(world, b"{\"sub\":\"\xff\"}"), TokenError::Undecodable),
        ("too deep", with_text(world, "{\"a\":".repeat(300).as_bytes()), TokenError::Undecodable),
        ("two subjects", with_text(world, br#"{"sub":"ada","sub":"eve"}"#), TokenError::AmbiguousName),
        ("an escaped one", with_text(world, br#"{"sub":"ada","\u0073ub":"eve"}"#), TokenError::AmbiguousName),
        ("two within", with_text(world, br#"{"cnf":{"jkt":"a","jkt":"b"}}"#), TokenError::AmbiguousName),
        (
            "claims within a text",
            with_text(world, br#"{"$serde_json::private::RawValue":"{\"sub\":\"eve\"}"}"#),
            TokenError::AmbiguousName,
        ),
        (
            "two algorithms",
            with_header(world, r#"{"alg":"ES256","alg":"none","kid":"p256"}"#),
            TokenError::AmbiguousName,
        ),
    ]
}

fn wrong_headers(world: &World) -> Forged {
    let header = |text: &str| with_header(world, text);
    let unsigned = |alg: &str| {
        let header = json!({ "alg": alg }).to_string();
        joined(&[header.as_bytes(), good_claims().to_string().as_bytes(), b""])
    };
    let rsa = |alg: &str, kid: &str| world.keys.rsa.token(json!({ "alg": alg, "kid": kid }), &good_claims());
    let mut forged = vec![
        ("none", unsigned("none"), TokenError::AlgorithmNotAllowed),
        ("None", unsigned("None"), TokenError::AlgorithmNotAllowed),
        ("empty", unsigned(""), TokenError::AlgorithmNotAllowed),
        ("lower case", unsigned("es256"), TokenError::AlgorithmNotAllowed),
        ("no algorithm", header(r#"{"kid":"p256"}"#), TokenError::AlgorithmNotAllowed),
        ("ES512", header(r#"{"alg":"ES512","kid":"p256"}"#), TokenError::AlgorithmNotAllowed),
        ("not in the list", rsa("RS512", "rsa"), TokenError::AlgorithmNotAllowed),
        ("a number", header(r#"{"alg":1}"#), TokenError::HeaderFormat),
        ("a number as kid", header(r#"{"alg":"ES256","kid":1}"#), TokenError::HeaderFormat),
        ("a list as typ", header(r#"{"alg":"ES256","typ":["at+jwt"]}"#), TokenError::HeaderFormat),
        ("crit", header(r#"{"alg":"ES256","crit":["exp"],"kid":"p256"}"#), TokenError::CriticalHeader),
        ("empty crit", header(r#"{"alg":"ES256","crit":[],"kid":"p256"}"#), TokenError::CriticalHeader),
        ("b64", header(r#"{"alg":"ES256","b64":false,"crit":["b64"]}"#), TokenError::CriticalHeader),
        ("unknown kid", header(r#"{"alg":"ES256","kid":"p257"}"#), TokenError::UnknownKey),
        ("empty kid", header(r#"{"alg":"ES256","kid":""}"#), TokenError::UnknownKey),
        ("a path as kid", header(r#"{"alg":"ES256","kid":"../../dev/null"}"#), TokenError::UnknownKey),
        ("a query as kid", header(r#"{"alg":"ES256","kid":"' OR 1=1 --"}"#), TokenError::UnknownKey),
        ("a key for encryption", rsa("RS256", "encryption"), TokenError::UnknownKey),
        ("a symmetric key", header(r#"{"alg":"ES256","kid":"secret"}"#), TokenError::UnknownKey),
        ("RSA with a key of ECDSA", rsa("RS256", "p256"), TokenError::KeyMismatch),
        ("ECDSA with a key of RSA", header(r#"{"alg":"ES256","kid":"rsa"}"#), TokenError::KeyMismatch),
        ("ECDSA with another curve", header(r#"{"alg":"ES256","kid":"p384"}"#), TokenError::KeyMismatch),
        ("EdDSA with a key of ECDSA", header(r#"{"alg":"EdDSA","kid":"p256"}"#), TokenError::KeyMismatch),
        ("PS256 with a key for RS256", rsa("PS256", "rs256-only"), TokenError::KeyMismatch),
    ];
    for (typ, error) in [
        ("oauth-id-jag+jwt", TokenError::IdentityAssertion),
        ("Application/OAuth-ID-JAG+JWT", TokenError::IdentityAssertion),
        ("dpop+jwt", TokenError::WrongType),
        ("logout+jwt", TokenError::WrongType),
        ("secevent+jwt", TokenError::WrongType),
        ("token-introspection+jwt", TokenError::WrongType),
        ("text/at+jwt", TokenError::WrongType),
        ("", TokenError::WrongType),
    ] {
        forged.push((typ, header(&json!({ "alg": "ES256", "kid": "p256", "typ": typ }).to_string()), error));
    }
    forged
}

fn wrong_signatures(world: &World) -> Forged {
    let claims = good_claims();
    let (p256, rsa) = (&world.keys.p256, &world.keys.rsa);
    let header = json!({ "alg": "ES256", "kid": "p256" });
    let eve = Signer::p256();
    let good = p256.token(header.clone(), &claims);
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (encoded_header, _) = message.split_once('.').unwrap();
    let other = BASE64URL_NOPAD.encode(claims_with("sub", json!("eve")).to_string().as_bytes());
    let own_key = json!({ "alg": "ES256", "kid": "p256", "jwk": eve.jwk(json!({ "kid": "p256" })) });
    let own_url = json!({ "alg": "ES256", "kid": "p256", "jku": "https://evil.test/keys" });
    let with_type = BASE64URL_NOPAD.encode(br#"{"alg":"ES256","kid":"p256","typ":"JWT"}"#);
    let with = |bytes: &[u8]| format!("{message}.{}", BASE64URL_NOPAD.encode(bytes));
    let as_is = |algorithm: &str, header: &Value| {
        rsa.sign(algorithm, &header.to_string(), claims.to_string().as_bytes())
    };
    let forged = vec![
        ("somebody else's", eve.token(header, &claims)),
        ("none at all", format!("{message}.")),
        ("cut", format!("{message}.{}", &signature[..84])),
        ("zeros", with(&[0; 64])),
        ("ones", with(&[0xff; 64])),
        ("too long", with(&[1; 4_096])),
        ("in DER", in_der(message)),
        ("other claims", format!("{encoded_header}.{other}.{signature}")),
        ("another header", format!("{with_type}.{}.{signature}", message.split_once('.').unwrap().1)),
        ("a key of its own", eve.token(own_key, &claims)),
        ("keys of its own", eve.token(own_url, &claims)),
        ("without kid", eve.token(json!({ "alg": "ES256" }), &claims)),
        ("PSS as PKCS#1", as_is("PS256", &json!({ "alg": "RS256", "kid": "rsa" }))),
        ("PKCS#1 as PSS", as_is("RS256", &json!({ "alg": "PS256", "kid": "rsa" }))),
        ("another hash", as_is("RS512", &json!({ "alg": "RS256", "kid": "rsa" }))),
        ("ECDSA as EdDSA", p256.token(json!({ "alg": "EdDSA", "kid": "ed25519" }), &claims)),
    ];
    forged.into_iter().map(|(name, token)| (name, token, TokenError::BadSignature)).collect()
}

/// A signature in DER, the form of X.509, with an unknown key.
fn in_der(message: &str) -> String {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random).unwrap();
    let signature = pair.sign(&random, message.as_bytes()).unwrap();
    format!("{message}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
}

/// Tokens signed with an HMAC whose secret is the issuer's public key, in the forms in which that is published.
fn confused(world: &World) -> Forged {
    let jwk = world.keys.rsa.jwk(json!({}));
    let modulus = BASE64URL_NOPAD.decode(jwk["n"].as_str().unwrap().as_bytes()).unwrap();
    let secrets =
        [modulus, jwk.to_string().into_bytes(), world.keys.jwks().to_string().into_bytes(), Vec::new()];
    let sign = |secret: &Vec<u8>| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let header = json!({ "alg": "HS256", "kid": "rsa", "typ": "at+jwt" }).to_string();
        let message = joined(&[header.as_bytes(), good_claims().to_string().as_bytes()]);
        let tag = hmac::sign(&key, message.as_bytes());
        format!("{message}.{}", BASE64URL_NOPAD.encode(tag.as_ref()))
    };
    secrets.iter().map(|secret| ("HS256", sign(secret), TokenError::AlgorithmNotAllowed)).collect()
}

#[tokio::test]
async fn forged_tokens_are_rejected_each_for_its_fault() {
    let world = World::new();
    let forged =
        [malformed(), undecodable(&world), wrong_headers(&world), wrong_signatures(&world), confused(&world)]
            .concat();
    assert!(forged.len() >= 75, "{}", forged.len());
    assert_rejected(&world, &forged).await;
    assert_eq!(world.fake.count(KEYS_URL), 3, "all of them had the keys fetched again twice");
    assert!(
        world.authenticate(&world.token(&good_claims())).await.is_ok(),
        "the others are for their faults"
    );
}

#[tokio::test]
async fn a_strict_issuer_says_what_its_tokens_are() {
    let world = World::with(vec![IssuerConfig { strict_type: true, ..issuer_config() }]);
    let token = |header: Value| world.keys.p256.token(header, &good_claims());
    for header in [
        json!({ "alg": "ES256", "kid": "p256" }),
        json!({ "alg": "ES256", "kid": "p256", "typ": "JWT" }),
        json!({ "alg": "ES256", "kid": "p256", "typ": "at+jws" }),
    ] {
        assert_eq!(world.authenticate(&token(header)).await.unwrap_err(), TokenError::WrongType);
    }
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt"] {
        let header = json!({ "alg": "ES256", "kid": "p256", "typ": typ });
        assert!(world.authenticate(&token(header)).await.is_ok(), "{typ}");
    }
}
