//! Tokens that this project did not make (`tests/clients/token-vectors`): the fit ones get in, and each of the unfit
//! ones is refused with the right status and header, runs no guest and has one line in the audit.

use plugport_tests::http_client::Client;
use plugport_tests::server::{Builder, Server};
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../../support/oauth_vectors.json");

/// What this server decides otherwise than the maker of the vectors says, with the reason.
const DECIDED_OTHERWISE: &[(&str, &str)] =
    &[("algorithm Ed25519", "RFC 9864 names what `EdDSA` with this curve was before")];

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
        let server = server(&maker).start().await;
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
        assert_eq!(server.wait_for_audit_lines(is_guests, fit).await.len(), fit);
        let mut lines = 0;
        for (what, token) in tokens(&maker["unfit"]) {
            if DECIDED_OTHERWISE.iter().any(|(other, _)| *other == what) {
                continue;
            }
            let said = Client::with_token(server.url(), token).call("polite-whoami", json!({})).await;
            let challenge = said.headers.get("www-authenticate").map(|value| value.to_str().unwrap());
            let error = if said.status == 400 { "invalid_request" } else { "invalid_token" };
            assert!(matches!(said.status, 400 | 401), "{name}, {what}: {said:?}");
            let expected = format!("error=\"{error}\"");
            assert!(challenge.is_some_and(|text| text.contains(&expected)), "{name}, {what}: {challenge:?}");
            assert!(!said.text.contains(token), "{name}, {what}");
            lines += 1;
            refused += 1;
        }
        let failures = server.wait_for_audit("unauthenticated", lines).await;
        assert_eq!(failures.len(), lines, "{name}: one line for each");
        assert_eq!(server.wait_for_audit_lines(is_guests, fit).await.len(), fit, "{name}: a guest ran");
        let written = server.log() + &std::fs::read_to_string(server.state().join("audit.jsonl")).unwrap();
        for (what, token) in tokens(&maker["fit"]).chain(tokens(&maker["unfit"])) {
            let signature = token.rsplit('.').next().unwrap();
            assert!(
                signature.len() < 20 || !written.contains(signature),
                "{name}, {what}: the token was written"
            );
        }
    }
    assert!(refused >= 50, "{refused}");
}
