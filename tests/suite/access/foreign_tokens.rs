//! Tokens that this project did not make (`tests/clients/token-vectors`): the fit ones get in, and each of the unfit
//! ones is refused with the right status, header and reason, runs no guest and has one line in the audit. Nothing of a
//! token is in the audit or in the log, which has all levels and records of all who handle tokens.

use plugport_tests::http_client::Client;
use plugport_tests::server::{Builder, Server};
use serde_json::{Value, json};

use super::traced;

const VECTORS: &str = include_str!("../../support/oauth_vectors.json");

/// What this server decides otherwise than the maker of the vectors says, with the reason.
const DECIDED_OTHERWISE: &[(&str, &str)] =
    &[("algorithm Ed25519", "RFC 9864 names what `EdDSA` with this curve was before")];

/// Tokens with characters that none may have, so that the whole request is malformed.
const MALFORMED: &[&str] = &["padded"];

/// How the reason in the audit begins, and the tokens that are refused for it.
const REASONS: &[(&str, &[&str])] = &[
    ("the header Authorization holds no bearer token", MALFORMED),
    ("the token is no JWT", &["encrypted", "two parts", "four parts"]),
    ("a part of the token is no JSON object", &["deeply nested", "claims are an array", "signature cut"]),
    (
        "the token is signed with an algorithm that is not in",
        &[
            "algorithm none",
            "algorithm ES256K",
            "algorithm ES512",
            "HMAC with the public key",
            "HMAC with a published secret",
        ],
    ),
    ("the token is no access token by its type", &["logout token"]),
    ("the token is an identity assertion", &["id-jag", "id-jag with our audience"]),
    ("the token is an ID token", &["id token", "id token with our audience"]),
    ("the token has critical header parameters", &["critical header", "unencoded payload"]),
    (
        "the token is signed with a key that its issuer does not publish",
        &["unpublished key", "path as key id"],
    ),
    (
        "the key that the token names is not for signatures of its algorithm",
        &["key of another algorithm", "key of another type"],
    ),
    (
        "the signature of the token is wrong",
        &[
            "another key under this id",
            "another's key under this id",
            "key in the header",
            "key set in the header",
            "payload of another token",
            "signature empty",
        ],
    ),
    ("the token names no issuer", &["no issuer", "nested token"]),
    ("the token is of an issuer that is not in", &["issuer with a slash", "another tenant's issuer"]),
    (
        "a claim of the token has the wrong type",
        &[
            "expiry as text",
            "expiry is negative",
            "audience is an object",
            "issuer is an array",
            "subject is a number",
            "subject has a line end",
            "subject is long",
        ],
    ),
    ("the token names no audience", &["no audience"]),
    (
        "the token is for another audience",
        &["audience is a prefix", "audience has a prefix", "audience is a pattern"],
    ),
    ("the token never expires", &["no expiry"]),
    ("the token has expired", &["expired"]),
    ("the token is not valid yet", &["not yet valid"]),
    ("the token was issued in the future", &["issued in the future"]),
    ("the token names no subject", &["no subject"]),
    ("the token is bound to a key; ", &["bound to a DPoP key"]),
    ("the token is bound to something that the client did not show", &["bound to a certificate"]),
];

fn reason_for(what: &str) -> &'static str {
    let found = REASONS.iter().find(|(_, tokens)| tokens.contains(&what));
    found.unwrap_or_else(|| panic!("no reason is known for: {what}")).0
}

/// A server that accepts the tokens of one maker.
fn server(maker: &Value) -> Builder {
    let builder = Server::builder().guest("polite");
    let keys = builder.folder().join("keys.json");
    std::fs::write(&keys, maker["jwks"].to_string()).unwrap();
    let config = format!(
        "[auth]\nresource = \"{}\"\n[[auth.issuers]]\nissuer = \"{}\"\njwks = {{ file = \"keys.json\" }}\n\
         algorithms = [\"RS256\", \"RS384\", \"RS512\", \"PS256\", \"PS384\", \"PS512\", \"ES256\", \"ES384\", \"EdDSA\"]\n\
         groups = \"/groups\"\n",
        maker["audience"].as_str().unwrap(),
        maker["issuer"].as_str().unwrap()
    );
    builder.config(&config)
}

fn tokens(kind: &Value) -> impl Iterator<Item = (&str, &str)> {
    kind.as_object().unwrap().iter().map(|(name, token)| (name.as_str(), token.as_str().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_other_makers_are_told_apart() {
    let mut refused = 0;
    for maker in serde_json::from_str::<Vec<Value>>(VECTORS).unwrap() {
        let server = server(&maker).log("trace").start().await;
        let name = maker["maker"].as_str().unwrap();
        let id =
            format!("oauth:{}#{}", maker["issuer"].as_str().unwrap(), maker["subject"].as_str().unwrap());
        for (what, token) in tokens(&maker["fit"]) {
            let said = Client::with_token(server.url(), token).call("polite-whoami", json!({})).await;
            assert_eq!(said.status, 200, "{name}, {what}: {said:?}");
            assert_eq!(said.result()["structuredContent"]["principal"], id, "{name}, {what}");
        }
        let is_guests = |line: &Value| line["event"] == "call" && line["caller"] != "server";
        let fit = maker["fit"].as_object().unwrap().len();
        let calls = server.wait_for_audit_lines(is_guests, fit).await;
        assert_eq!(calls.len(), fit);
        for line in &calls {
            assert_eq!(
                (&line["client"], &line["address"]),
                (&maker["client"], &json!("127.0.0.1")),
                "{line}"
            );
        }
        let mut reasons = Vec::new();
        for (what, token) in tokens(&maker["unfit"]) {
            if DECIDED_OTHERWISE.iter().any(|(other, _)| *other == what) {
                continue;
            }
            let said = Client::with_token(server.url(), token).call("polite-whoami", json!({})).await;
            let challenge = said.headers.get("www-authenticate").map(|value| value.to_str().unwrap());
            let is_malformed = MALFORMED.contains(&what);
            let (status, error) =
                if is_malformed { (400, "invalid_request") } else { (401, "invalid_token") };
            assert_eq!(said.status, status, "{name}, {what}: {said:?}");
            let expected = format!("error=\"{error}\"");
            assert!(challenge.is_some_and(|text| text.contains(&expected)), "{name}, {what}: {challenge:?}");
            assert!(!said.text.contains(token), "{name}, {what}");
            reasons.push((what, reason_for(what)));
        }
        let failures = server.wait_for_audit("unauthenticated", reasons.len()).await;
        assert_eq!(failures.len(), reasons.len(), "{name}: one line for each");
        for ((what, reason), line) in reasons.iter().zip(&failures) {
            assert!(line["reason"].as_str().unwrap().starts_with(reason), "{name}, {what}: {line}");
        }
        refused += reasons.len();
        assert_eq!(server.wait_for_audit_lines(is_guests, fit).await.len(), fit, "{name}: a guest ran");
        let malformed = reasons.iter().filter(|(what, _)| MALFORMED.contains(what)).count();
        let sent = fit + reasons.len();
        let modules = [
            ("transport::http::authentication", sent - malformed),
            ("access::authenticator", sent),
            ("access::oauth", fit),
        ];
        let audit = std::fs::read_to_string(server.state().join("audit.jsonl")).unwrap();
        let written = traced(&server, &modules).await + &audit;
        for (what, token) in tokens(&maker["fit"]).chain(tokens(&maker["unfit"])) {
            for part in token.split('.').filter(|part| part.len() >= 20) {
                assert!(!written.contains(part), "{name}, {what}: a part of the token was written: {part}");
            }
        }
    }
    assert_eq!(refused, 52, "all of both makers but what is decided otherwise");
}
