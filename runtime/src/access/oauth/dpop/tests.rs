//! Proofs: good ones, forged ones each with its fault, and the example of RFC 9449.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::thumbprint::thumbprint;
use super::*;
use crate::access::oauth::tests::signer::{Signer, TestKeys};

const NOW: u64 = 1_800_000_000;
const TARGET: &str = "https://tools.example.com/mcp";
const TOKEN: &str = "token";

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn digest(text: &str) -> Digest {
    Sha256::digest(text.as_bytes()).into()
}

fn ath(token: &str) -> String {
    BASE64URL_NOPAD.encode(&digest(token))
}

/// The header of a good proof.
fn header(alg: &str, signer: &Signer) -> Value {
    json!({ "typ": "dpop+jwt", "alg": alg, "jwk": signer.jwk(json!({})) })
}

/// The claims of a good proof.
fn claims() -> Value {
    json!({ "jti": "1", "htm": "POST", "htu": TARGET, "iat": NOW, "ath": ath(TOKEN) })
}

/// An object with another member; `null` removes the member.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    match value {
        Value::Null => drop(object.as_object_mut().unwrap().remove(name)),
        value => object[name] = value,
    }
    object
}

/// A server on which a client calls `POST /mcp` with a token that is bound to `key`.
struct ProtectedServer<'k> {
    verifier: ProofVerifier,
    key: &'k Signer,
}

impl<'k> ProtectedServer<'k> {
    fn new(key: &'k Signer) -> Self {
        Self { verifier: ProofVerifier::new(at(NOW - 1_000)), key }
    }

    fn verify(&self, proof: &str) -> Result<(), TokenError> {
        let key = thumbprint(self.key.jwk(json!({})).as_object().unwrap()).unwrap();
        let request = DpopRequest { proof: Some(proof), method: "POST", targets: &[TARGET.to_owned()] };
        self.verifier.verify(request, &digest(TOKEN), &key, &"ada".into(), at(NOW))
    }
}

#[test]
fn the_example_of_the_standard_is_good() {
    // RFC 9449, 7.1.
    let proof = concat!(
        "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZ",
        "OXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIs",
        "ImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJj",
        "ZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05y",
        "V0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6",
        "Fy1dqd-jfxSYoMxhAJpLjA",
    );
    let token = digest("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
    let key = BASE64URL_NOPAD.decode(b"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I").unwrap();
    let key: Digest = key.try_into().unwrap();
    let targets = ["https://resource.example.org/protectedresource".to_owned()];
    let request = DpopRequest { proof: Some(proof), method: "GET", targets: &targets };
    let now = at(1_562_262_618);
    let verifier = ProofVerifier::new(now);
    assert_eq!(verifier.verify(request, &token, &key, &"ada".into(), now), Ok(()));
    let again = verifier.verify(request, &token, &key, &"ada".into(), now);
    assert_eq!(again, Err(TokenError::Proof(ProofError::Replayed)));
    let without = DpopRequest { proof: None, ..request };
    let none = verifier.verify(without, &token, &key, &"ada".into(), now);
    assert_eq!(none, Err(TokenError::Proof(ProofError::NotOne)));
}

#[test]
fn a_key_of_every_type_proves_itself() {
    let keys = TestKeys::new();
    for (alg, key) in [
        ("RS256", &keys.rsa),
        ("PS512", &keys.rsa),
        ("ES256", &keys.p256),
        ("ES384", &keys.p384),
        ("EdDSA", &keys.ed25519),
        ("Ed25519", &keys.ed25519),
    ] {
        let server = ProtectedServer::new(key);
        assert_eq!(server.verify(&key.token(header(alg, key), &claims())), Ok(()), "{alg}");
    }
}

#[test]
fn what_may_differ_makes_no_difference() {
    let key = Signer::p256();
    let server = ProtectedServer::new(&key);
    for (number, (name, value)) in [
        ("htu", json!("HTTPS://Tools.Example.com:443/mcp?a=b#c")),
        ("htu", json!("https://tools.example.com/mcp/")),
        ("iat", json!(NOW - 299)),
        ("iat", json!(NOW + 299)),
        ("iat", json!(NOW as f64 + 0.5)),
        ("nonce", json!("of another server")),
        ("exp", json!(NOW - 1)),
        ("sub", json!("ada")),
    ]
    .into_iter()
    .enumerate()
    {
        let claims = with(with(claims(), name, value.clone()), "jti", json!(number.to_string()));
        assert_eq!(server.verify(&key.token(header("ES256", &key), &claims)), Ok(()), "{name}: {value}");
    }
}

/// Headers that no good proof has: all are signed by the key of the token.
fn wrong_headers(keys: &TestKeys) -> Vec<(&'static str, Value, ProofError)> {
    let good = || header("ES256", &keys.p256);
    let with = |name, value| with(good(), name, value);
    let key = |more| keys.p256.jwk(more);
    vec![
        ("no type", with("typ", Value::Null), ProofError::WrongType),
        ("the type of any JWT", with("typ", json!("JWT")), ProofError::WrongType),
        ("the type of a token", with("typ", json!("at+jwt")), ProofError::WrongType),
        ("a type that is no text", with("typ", json!(1)), ProofError::WrongType),
        ("no algorithm", with("alg", Value::Null), ProofError::AlgorithmNotAllowed),
        ("no signature", with("alg", json!("none")), ProofError::AlgorithmNotAllowed),
        ("a shared secret", with("alg", json!("HS256")), ProofError::AlgorithmNotAllowed),
        ("lower case", with("alg", json!("es256")), ProofError::AlgorithmNotAllowed),
        ("an algorithm of another curve", with("alg", json!("ES384")), ProofError::NoKey),
        ("an algorithm of another type", with("alg", json!("RS256")), ProofError::NoKey),
        ("an extension", with("crit", json!(["b64"])), ProofError::CriticalHeader),
        ("no key", with("jwk", Value::Null), ProofError::NoKey),
        ("a key as text", with("jwk", json!("key")), ProofError::NoKey),
        ("a key by its id", with("jwk", json!({ "kid": "1" })), ProofError::NoKey),
        ("a private key", with("jwk", key(json!({ "d": "AA" }))), ProofError::NoKey),
        ("a part of a private key", with("jwk", key(json!({ "dp": "AA" }))), ProofError::NoKey),
        ("a secret", with("jwk", json!({ "kty": "oct", "k": "AAAA" })), ProofError::NoKey),
        ("a key for encryption", with("jwk", key(json!({ "use": "enc" }))), ProofError::NoKey),
        ("a key of another algorithm", with("jwk", key(json!({ "alg": "ES384" }))), ProofError::NoKey),
        ("the key of somebody else", with("jwk", Signer::p256().jwk(json!({}))), ProofError::OtherKey),
    ]
}

/// Claims that no good proof has: all are signed by the key of the token.
fn wrong_claims() -> Vec<(&'static str, Value, ProofError)> {
    vec![
        ("jti", Value::Null, ProofError::ClaimFormat),
        ("jti", json!(""), ProofError::ClaimFormat),
        ("jti", json!(1), ProofError::ClaimFormat),
        ("htm", Value::Null, ProofError::ClaimFormat),
        ("htm", json!("GET"), ProofError::OtherMethod),
        ("htm", json!("post"), ProofError::OtherMethod),
        ("htu", Value::Null, ProofError::ClaimFormat),
        ("htu", json!([TARGET]), ProofError::ClaimFormat),
        ("htu", json!("/mcp"), ProofError::OtherUri),
        ("htu", json!("http://tools.example.com/mcp"), ProofError::OtherUri),
        ("htu", json!("https://tools.example.com/sse"), ProofError::OtherUri),
        ("htu", json!("https://tools.example.com:8443/mcp"), ProofError::OtherUri),
        ("htu", json!("https://other.example.com/mcp"), ProofError::OtherUri),
        ("htu", json!("https://tools.example.com@evil.test/mcp"), ProofError::OtherUri),
        ("ath", Value::Null, ProofError::ClaimFormat),
        ("ath", json!(""), ProofError::OtherToken),
        ("ath", json!(TOKEN), ProofError::OtherToken),
        ("ath", json!(ath("another token")), ProofError::OtherToken),
        ("ath", json!(format!("{}=", ath(TOKEN))), ProofError::OtherToken),
        ("iat", Value::Null, ProofError::ClaimFormat),
        ("iat", json!(NOW.to_string()), ProofError::ClaimFormat),
        ("iat", json!(-1), ProofError::ClaimFormat),
        ("iat", json!(1e300), ProofError::ClaimFormat),
        ("iat", json!(0), ProofError::NotNow),
        ("iat", json!(NOW - 300), ProofError::NotNow),
        ("iat", json!(NOW + 300), ProofError::NotNow),
    ]
}

/// Texts that are no proof, or one of somebody else.
fn wrong_texts(keys: &TestKeys) -> Vec<(&'static str, String, ProofError)> {
    let good = keys.p256.token(header("ES256", &keys.p256), &claims());
    let other = keys.p256.token(header("ES256", &keys.p256), &with(claims(), "jti", json!("2")));
    let (message, _) = good.rsplit_once('.').unwrap();
    let (_, signature) = other.rsplit_once('.').unwrap();
    let thief = Signer::p256();
    let duplicated = header("ES256", &keys.p256).to_string().replacen('{', "{\"alg\":\"none\",", 1);
    vec![
        ("nothing", String::new(), ProofError::Undecodable),
        ("no JWT", "proof".to_owned(), ProofError::Undecodable),
        ("two parts", message.to_owned(), ProofError::Undecodable),
        ("five parts", format!("{good}.AA.AA"), ProofError::Undecodable),
        ("padding", format!("{}=.e30.AA", BASE64URL_NOPAD.encode(b"{}")), ProofError::Undecodable),
        ("a name twice", keys.p256.sign("ES256", &duplicated, b"{}"), ProofError::Undecodable),
        ("too long", format!("{good}{}", "A".repeat(16 << 10)), ProofError::TooLong),
        ("no signature", format!("{message}."), ProofError::BadSignature),
        ("the signature of another proof", format!("{message}.{signature}"), ProofError::BadSignature),
        (
            "a signature of a thief",
            thief.token(header("ES256", &keys.p256), &claims()),
            ProofError::BadSignature,
        ),
        ("the proof of a thief", thief.token(header("ES256", &thief), &claims()), ProofError::OtherKey),
    ]
}

#[test]
fn forged_proofs_are_rejected_each_for_its_fault() {
    let keys = TestKeys::new();
    let server = ProtectedServer::new(&keys.p256);
    let mut forged = wrong_texts(&keys);
    for (name, header, error) in wrong_headers(&keys) {
        forged.push((name, keys.p256.token(header, &claims()), error));
    }
    for (name, value, error) in wrong_claims() {
        let claims = with(claims(), name, value);
        forged.push((name, keys.p256.token(header("ES256", &keys.p256), &claims), error));
    }
    assert!(forged.len() >= 50, "{}", forged.len());
    for (name, proof, error) in forged {
        assert_eq!(server.verify(&proof), Err(TokenError::Proof(error)), "{name}: {proof}");
    }
    let good = keys.p256.token(header("ES256", &keys.p256), &claims());
    assert_eq!(server.verify(&good), Ok(()), "a proof that was rejected uses up no jti");
    assert_eq!(server.verify(&good), Err(TokenError::Proof(ProofError::Replayed)));
    let resigned = keys.p256.token(header("ES256", &keys.p256), &with(claims(), "iat", json!(NOW + 1)));
    assert_eq!(server.verify(&resigned), Err(TokenError::Proof(ProofError::Replayed)), "the same jti");
}

#[test]
fn a_proof_from_before_the_start_is_rejected() {
    let key = Signer::ed25519();
    let server = ProtectedServer { verifier: ProofVerifier::new(at(NOW)), key: &key };
    let made = |jti: &str, iat: u64| {
        let claims = with(with(claims(), "jti", json!(jti)), "iat", json!(iat));
        key.token(header("EdDSA", &key), &claims)
    };
    assert_eq!(server.verify(&made("1", NOW - 6)), Err(TokenError::Proof(ProofError::BeforeStart)));
    assert_eq!(server.verify(&made("2", NOW - 5)), Ok(()));
}
