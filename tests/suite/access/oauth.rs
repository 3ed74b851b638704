//! A real authorization server (`oidc-provider`) and the official SDKs: discovery, token, call, step-up, call; keys
//! that rotate, and a server that is away.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use plugport_tests::authorization_server::AuthorizationServer;
use plugport_tests::external_clients::ExternalClient::{self, FastMcp, Python, TypeScript};
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::{free_address, protected};

async fn log_in(
    client: ExternalClient,
    transport: &'static str,
    logins: &[(&'static str, &str)],
) -> Result<()> {
    client.install().await?;
    let issuer = AuthorizationServer::start(&[]).await?;
    let server = protected(&issuer, &["polite"], "").await;
    let url = if transport == "sse" { server.url().replace("/mcp", "/sse") } else { server.url() };
    for (revision, grant) in logins {
        let target = vec![url.clone(), (*grant).to_owned(), issuer.introduction.clone()];
        let report = client.drive("oauth_login", transport, revision, target).await;
        let report =
            report.map_err(|error| error.context(format!("{revision} {grant}: {}", server.log())))?;
        ensure!(report["ok"] == true && report["revision"] == *revision, "{revision} {grant}: {report}");
    }
    Ok(())
}

const LOGINS: &[(&str, &str)] = &[
    ("2025-03-26", "registered"),
    ("2025-06-18", "registered"),
    ("2025-11-25", "document"),
    ("2026-07-28", "public"),
    ("2025-11-25", "secret"),
    ("2026-07-28", "key"),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_sdk_logs_in_and_steps_up() -> Result<()> {
    log_in(TypeScript, "http", LOGINS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_logs_in_and_steps_up() -> Result<()> {
    log_in(Python, "http", LOGINS).await
}

/// The package fastmcp registers or shows a document for a person, and has a secret or a key for a machine.
#[tokio::test(flavor = "multi_thread")]
async fn fastmcp_logs_in_and_steps_up() -> Result<()> {
    log_in(FastMcp, "http", LOGINS).await
}

/// Over HTTP+SSE a missing scope is an error of MCP and no challenge, so no client steps up.
const SSE_LOGINS: &[(&str, &str)] = &[("2024-11-05", "registered")];

#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_sdk_logs_in_over_sse() -> Result<()> {
    log_in(TypeScript, "sse", SSE_LOGINS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_logs_in_over_sse() -> Result<()> {
    log_in(Python, "sse", SSE_LOGINS).await
}

/// A token for the server, made without a login.
async fn token(issuer: &AuthorizationServer, server: &Server, claims: &Value) -> Result<String> {
    let mut all = json!({ "aud": server.url(), "sub": "alice", "scope": "tools", "client_id": "chat" });
    all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    issuer.mint(&json!({ "claims": all })).await
}

/// Tokens that the server has not seen, of the newest key.
async fn tokens(issuer: &AuthorizationServer, server: &Server, subject: &str) -> Result<Vec<String>> {
    let mut tokens = Vec::new();
    for number in 0..32 {
        tokens.push(token(issuer, server, &json!({ "sub": format!("{subject}-{number}") })).await?);
    }
    Ok(tokens)
}

/// Half of the callers have tokens of the new key.
#[tokio::test(flavor = "multi_thread")]
async fn keys_rotate_under_64_callers_without_one_refusal() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    let server = protected(&issuer, &["polite"], "").await;
    let call = |token: String| {
        let client = Client::with_token(server.url(), &token);
        async move {
            let begun = Instant::now();
            let mut calls = 0;
            while begun.elapsed() < Duration::from_secs(3) {
                let said = client.call("polite-echo", json!({ "message": "x" })).await;
                assert_eq!(said.status, 200, "{said:?}");
                calls += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            calls
        }
    };
    let mut callers =
        tokio::task::JoinSet::from_iter(tokens(&issuer, &server, "old").await?.into_iter().map(call));
    tokio::time::sleep(Duration::from_secs(1)).await;
    // A stranger makes the server fetch the keys just before they change.
    let claims = json!({ "aud": server.url(), "sub": "mallory" });
    let forged = issuer.mint(&json!({ "key": "unpublished", "claims": claims })).await?;
    let said = Client::with_token(server.url(), &forged).call("polite-echo", json!({})).await;
    ensure!(said.status == 401, "{said:?}");
    issuer.rotate(false).await?;
    for token in tokens(&issuer, &server, "new").await? {
        callers.spawn(call(token));
    }
    let calls: Vec<usize> = callers.join_all().await;
    ensure!(calls.len() == 64 && calls.iter().sum::<usize>() > 2 * 64, "{calls:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_keys_cost_two_fetches_and_known_ones_serve_without_the_issuer() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    let server = protected(&issuer, &["polite"], "").await;
    let good = token(&issuer, &server, &json!({})).await?;
    let status = async |token: &str| {
        Client::with_token(server.url(), token).call("polite-whoami", json!({})).await.status
    };
    ensure!(status(&good).await == 200, "the server fetches the keys");
    let before = issuer.requests("/jwks").await?;
    for at in 0..50 {
        // Issued before the server fetched the keys, so that it need not fetch them again to be certain.
        let claims = json!({ "aud": server.url(), "sub": format!("mallory{at}"), "iat": 1_700_000_000 });
        let forged = issuer.mint(&json!({ "key": "unpublished", "claims": claims })).await?;
        ensure!(status(&forged).await == 401, "{at}");
    }
    let fetches = issuer.requests("/jwks").await? - before;
    ensure!(fetches <= 2, "50 unknown keys were fetched {fetches} times");
    issuer.outage(503, 0).await?;
    ensure!(status(&good).await == 200, "a token that is known");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_issuer_the_server_starts_and_never_allows() -> Result<()> {
    let issuer = AuthorizationServer::start(&[]).await?;
    issuer.outage(503, 0).await?;
    let server = protected(&issuer, &["polite"], "").await;
    let token = issuer.mint(&json!({ "claims": { "aud": server.url(), "sub": "alice" } })).await?;
    let client = Client::with_token(server.url(), &token);
    let said = client.call("polite-whoami", json!({})).await;
    ensure!(said.status == 503 && said.headers.contains_key("retry-after"), "{said:?}");
    issuer.outage(0, 0).await?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.call("polite-whoami", json!({})).await.status != 200 {
        ensure!(Instant::now() < deadline, "it never came back: {}", server.log());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn opaque_tokens_are_introspected() -> Result<()> {
    let issuer = AuthorizationServer::start(&["--format", "opaque"]).await?;
    let introduction: Value = serde_json::from_str(&issuer.introduction)?;
    let client = &introduction["introspection"];
    let more = format!(
        "introspection = {{ client_id = {}, secret = {{ file = \"secret\" }} }}\n",
        toml::Value::from(client["client_id"].as_str().unwrap())
    );
    let listen = free_address();
    let config = format!(
        "[auth]\nresource = \"http://{listen}/mcp\"\nscopes = [\"tools\"]\n\
         [[auth.issuers]]\nissuer = \"{}\"\n{more}[plugins.polite.tools.add]\nscopes = [\"tools:write\"]\n",
        issuer.issuer
    );
    TypeScript.install().await?;
    let builder = Server::builder().guest("polite").config(&config).listen(listen);
    std::fs::write(builder.folder().join("secret"), client["client_secret"].as_str().unwrap())?;
    let server = builder.start().await;
    for (revision, grant) in [("2025-11-25", "registered"), ("2026-07-28", "secret")] {
        let target = vec![server.url(), grant.to_owned(), issuer.introduction.clone()];
        let report = TypeScript.drive("oauth_login", "http", revision, target).await;
        let report = report.map_err(|error| error.context(server.log()))?;
        ensure!(report["ok"] == true, "{report}");
    }
    Ok(())
}
