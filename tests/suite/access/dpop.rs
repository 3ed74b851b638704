//! Tokens that are bound to a key (DPoP): a real authorization server binds them, a foreign library signs the proofs,
//! and each misuse of token or proof is refused with the right challenge and has one line in the audit.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plugport_tests::authorization_server::AuthorizationServer;
use plugport_tests::external_clients::ExternalClient;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::{ADA, as_caller, check_token, free_address, section, traced};

/// Calls that are refused, each with the scheme and the error of its challenge.
const REFUSED: &[(&str, &str, &str)] = &[
    ("replayed", "DPoP", "invalid_dpop_proof"),
    ("no proof", "DPoP", "invalid_dpop_proof"),
    ("two proofs", "DPoP", "invalid_dpop_proof"),
    ("as Bearer", "DPoP", "invalid_token"),
    ("as Bearer with a proof", "DPoP", "invalid_token"),
    ("another method", "DPoP", "invalid_dpop_proof"),
    ("another path", "DPoP", "invalid_dpop_proof"),
    ("another host", "DPoP", "invalid_dpop_proof"),
    ("another token", "DPoP", "invalid_dpop_proof"),
    ("no token in it", "DPoP", "invalid_dpop_proof"),
    ("an hour old", "DPoP", "invalid_dpop_proof"),
    ("an hour ahead", "DPoP", "invalid_dpop_proof"),
    ("another type", "DPoP", "invalid_dpop_proof"),
    ("a private key", "DPoP", "invalid_dpop_proof"),
    ("the key of a thief", "DPoP", "invalid_dpop_proof"),
    ("signed by a thief", "DPoP", "invalid_dpop_proof"),
    ("a free token as DPoP", "DPoP", "invalid_token"),
    ("its stream with the proof of a POST", "DPoP", "invalid_dpop_proof"),
    ("its end without a proof", "DPoP", "invalid_dpop_proof"),
];

/// Starts a server whose tokens `issuer` makes, with more keys of `[auth]`.
async fn protected(issuer: &AuthorizationServer, more: &str) -> Server {
    let listen = free_address();
    let config = format!(
        "[auth]\nresource = \"http://{listen}/mcp\"\n{more}[[auth.issuers]]\nissuer = \"{}\"\n",
        issuer.issuer
    );
    Server::builder().guest("polite").config(&config).listen(listen).start().await
}

/// What became of each call, with a key for this algorithm.
async fn calls(issuer: &AuthorizationServer, server: &Server, algorithm: &'static str) -> Result<Value> {
    let target = vec![server.url(), issuer.introduction.clone()];
    let report = ExternalClient::AuthorizationServer.drive("dpop_calls", "http", algorithm, target).await;
    report.map_err(|error| error.context(server.log()))
}

fn status(report: &Value, call: &str) -> u64 {
    report[call]["status"].as_u64().unwrap_or_else(|| panic!("no {call} in {report}"))
}

async fn metadata(server: &Server) -> Result<Value> {
    let url = server.url().replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    Ok(reqwest::get(url).await?.json().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_token_is_for_the_holder_of_its_key() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    for algorithm in ["ES256", "Ed25519"] {
        let server = protected(&issuer, "").await;
        let report = calls(&issuer, &server, algorithm).await?;
        let principal = format!("oauth:{}#machine-secret", issuer.issuer);
        let accepted = ["proven", "proven again", "a free token"];
        for call in accepted {
            ensure!(status(&report, call) == 200, "{algorithm}, {call}: {report}");
            ensure!(report[call]["principal"] == principal, "{algorithm}, {call}: {report}");
        }
        for (call, scheme, error) in REFUSED {
            let challenge = report[*call]["challenge"].as_str().unwrap_or_default();
            ensure!(status(&report, call) == 401, "{algorithm}, {call}: {report}");
            ensure!(challenge.starts_with(&format!("{scheme} error=\"{error}\"")), "{call}: {challenge}");
            ensure!(challenge.contains("algs=\"") && challenge.contains("ES256"), "{call}: {challenge}");
            ensure!(challenge.contains("resource_metadata=\""), "{call}: {challenge}");
        }
        let first = report["no token"]["challenge"].as_str().unwrap_or_default();
        ensure!(status(&report, "no token") == 401 && first.starts_with("Bearer "), "{report}");
        for (call, expected) in
            [("no such session", 405), ("a session", 200), ("its stream", 200), ("its end", 204)]
        {
            ensure!(status(&report, call) == expected, "{algorithm}, the proof of {call} was good: {report}");
        }
        let is_refusal = |line: &Value| line["event"] == "unauthenticated";
        let lines = server.wait_for_audit_lines(is_refusal, REFUSED.len()).await.len();
        ensure!(lines == REFUSED.len(), "{lines} lines in the audit");
        let is_guests = |line: &Value| line["event"] == "call" && line["caller"] != "server";
        let lines = server.wait_for_audit_lines(is_guests, accepted.len()).await.len();
        ensure!(lines == accepted.len(), "{lines} calls");
        let metadata = metadata(&server).await?;
        let algorithms = metadata["dpop_signing_alg_values_supported"].as_array();
        ensure!(algorithms.is_some_and(|known| known.iter().any(|known| known == "ES256")), "{metadata}");
        ensure!(metadata["dpop_bound_access_tokens_required"].is_null(), "{metadata}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_can_require_bound_tokens() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    let server = protected(&issuer, "require_dpop = true\n").await;
    let report = calls(&issuer, &server, "ES256").await?;
    ensure!(status(&report, "proven") == 200, "{report}");
    for (call, begin) in [("a free token", "DPoP error=\"invalid_token\""), ("no token", "DPoP ")] {
        let challenge = report[call]["challenge"].as_str().unwrap_or_default();
        ensure!(status(&report, call) == 401 && challenge.starts_with(begin), "{call}: {report}");
    }
    let metadata = metadata(&server).await?;
    ensure!(metadata["dpop_bound_access_tokens_required"] == true, "{metadata}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_token_is_not_accepted_any_more() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    let config = |resource: &str, of_auth: &str, of_issuer: &str| {
        let auth = format!("[auth]\nresource = \"{resource}\"\n{of_auth}{}", section("ada", ADA, ""));
        format!("{auth}[[auth.issuers]]\nissuer = \"{}\"\n{of_issuer}", issuer.issuer)
    };
    for (of_auth, of_issuer) in
        [("require_dpop = true\n", ""), ("", "audience = [\"https://other.example\"]\n")]
    {
        let listen = free_address();
        let resource = format!("http://{listen}/mcp");
        let before = config(&resource, "", "");
        let server = Server::builder().guest("polite").config(&before).listen(listen).start().await;
        let token = issuer.mint(&json!({ "claims": { "aud": resource, "sub": "alice" } })).await?;
        let unbound = Client::with_token(server.url(), &token).session(LEGACY).await;
        let of_ada = as_caller(&server, ADA).session(LEGACY).await;
        let (mut stream, mut other) = (unbound.listen(None).await, of_ada.listen(None).await);
        ensure!((stream.status, other.status) == (200, 200), "{}", server.log());
        std::fs::write(server.folder().join("plugport.toml"), config(&resource, of_auth, of_issuer))?;
        let ended = async { while stream.event().await.is_some() {} };
        let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
        ensure!(ended.is_ok(), "{of_auth}{of_issuer}: the stream went on:\n{}", server.log());
        ensure!(unbound.request("tools/list", json!({})).await.status == 401, "{of_auth}{of_issuer}");
        let goes_on = async { while other.event().await.is_some() {} };
        let goes_on = tokio::time::timeout(Duration::from_millis(500), goes_on).await;
        ensure!(goes_on.is_err(), "the stream of a token of [[auth.tokens]] ended too");
    }
    Ok(())
}

/// A token for the server that is bound to nothing.
async fn free_token(issuer: &AuthorizationServer, server: &Server) -> Result<String> {
    let introduction: Value = serde_json::from_str(&issuer.introduction)?;
    let client = &introduction["machine_secret"];
    let resource = server.url().replace(':', "%3A").replace('/', "%2F");
    let request = reqwest::Client::new()
        .post(format!("{}/token", issuer.issuer))
        .basic_auth(client["client_id"].as_str().context("it has an id")?, client["client_secret"].as_str())
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("grant_type=client_credentials&scope=tools&resource={resource}"));
    let response: Value = request.send().await?.json().await?;
    Ok(response["access_token"].as_str().with_context(|| format!("no token: {response}"))?.to_owned())
}

/// Neither the last token, a proof nor the secret for introspection is in the log, which has all levels and records of
/// all who handle them. The log is searched for proofs by how each begins.
#[tokio::test(flavor = "multi_thread")]
async fn an_opaque_token_is_bound_by_its_introspection() -> Result<()> {
    let issuer = AuthorizationServer::start(&["--format", "opaque"]).await?;
    let introduction: Value = serde_json::from_str(&issuer.introduction)?;
    let client = &introduction["introspection"];
    let listen = free_address();
    let config = format!(
        "[auth]\nresource = \"http://{listen}/mcp\"\n[[auth.issuers]]\nissuer = \"{}\"\n\
         introspection = {{ client_id = {}, secret = {{ file = \"secret\" }} }}\n",
        issuer.issuer,
        toml::Value::from(client["client_id"].as_str().unwrap())
    );
    let builder = Server::builder().guest("polite").config(&config).listen(listen).log("trace");
    let secret = client["client_secret"].as_str().unwrap();
    std::fs::write(builder.folder().join("secret"), secret)?;
    let server = builder.start().await;
    let report = calls(&issuer, &server, "ES256").await?;
    for (call, expected) in [("proven", 200), ("replayed", 401), ("as Bearer", 401), ("a free token", 200)] {
        ensure!(status(&report, call) == expected, "{call}: {report}");
    }
    let token = free_token(&issuer, &server).await?;
    // A busy machine may let the issuer be too late, and then a client tries again.
    let mut said = as_caller(&server, &token).call("polite-whoami", json!({})).await;
    if said.status == 503 {
        said = as_caller(&server, &token).call("polite-whoami", json!({})).await;
    }
    ensure!(said.status == 200, "{said:?}");
    let modules = [
        ("transport::http::authentication", 5),
        ("access::authenticator", 5),
        // The bound token, the free one of the calls, and the one above.
        ("access::oauth::introspection", 3),
        ("access::oauth::fetch", 4),
        ("access::oauth::dpop", 1),
    ];
    let log = traced(&server, &modules).await;
    // Each proof begins like every JWT of these libraries, with the base64url of `{"alg"` or `{"typ"`.
    for hidden in [&*token, secret, "Basic ", "eyJhbGci", "eyJ0eXAi"] {
        ensure!(!log.contains(hidden), "{hidden:?} is in the log:\n{log}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_to_what_a_token_is_bound() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    let (folder, resource) = (tempfile::tempdir()?, "https://tools.example.com/mcp");
    let file = folder.path().join("plugport.toml");
    let digest = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
    let mint = async |confirmation: Value| {
        issuer.mint(&json!({ "claims": { "aud": resource, "cnf": confirmation } })).await
    };
    let (key, certificate) = (json!({ "jkt": digest }), json!({ "x5t#S256": digest }));
    for (confirmation, more, code, text) in [
        (key.clone(), "", 0, "the token is bound to a key; the server will ask for a proof (DPoP)"),
        (key, "require_dpop = true\n", 0, "the token is bound to a key"),
        (certificate.clone(), "", 0, "the token is bound to a client certificate"),
        (certificate, "require_dpop = true\n", 1, "refused: the token is bound to no key"),
        (json!({ "kid": "1" }), "", 1, "refused: the token is bound to something"),
    ] {
        let auth = format!("[auth]\nresource = \"{resource}\"\n{more}");
        std::fs::write(&file, format!("{auth}[[auth.issuers]]\nissuer = \"{}\"\n", issuer.issuer))?;
        let token = mint(confirmation).await?;
        let (exit, said) = check_token(&file, &token).await;
        ensure!(exit == Some(code) && said.contains(text), "{text:?} is not in:\n{said}");
        ensure!(!said.contains(&token), "the token was printed");
    }
    Ok(())
}
