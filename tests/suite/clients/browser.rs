//! Pages in Chromium: one logs in with the official TypeScript package and does the whole protocol, a foreign one reads
//! nothing, and the pages of the Inspector call a tool.

use anyhow::{Context as _, Result, ensure};
use plugport_tests::authorization_server::AuthorizationServer;
use plugport_tests::browser;
use plugport_tests::external_clients::ExternalClient::{Browser, Inspector};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::access::protected;

/// The page leaves for the authorization server and comes back with a code, twice: once for a token, and once for the
/// scope that a tool needs.
async fn logs_in(revision: &'static str) -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    let issuer = AuthorizationServer::start(&[]).await?;
    let server =
        protected(&issuer, &["polite", "conformance"], "[plugins.conformance]\nprefix = \"\"\n").await;
    let report = Browser.drive("page_login", "http", revision, vec![server.url()]).await;
    let report = report.with_context(|| format!("the server said:\n{}", server.log()))?;
    ensure!(report["ok"] == true && report["revision"] == revision, "{report}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_a_session_logs_in_and_steps_up() -> Result<()> {
    logs_in("2025-11-25").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateless_page_logs_in_and_steps_up() -> Result<()> {
    logs_in("2026-07-28").await
}

/// Whether what a foreign page has got tells it nothing: an error of its browser, a response without contents, or the
/// refusal of a foreign name.
fn tells_nothing(got: &str) -> bool {
    ["TypeError", "opaque", "error"].contains(&got) || got.starts_with("403 this Host is not allowed")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_page_reads_nothing() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    let issuer = AuthorizationServer::start(&[]).await?;
    let open = Server::builder().guest("polite").start().await;
    foreign_page(&open, "none").await?;
    drop(open);
    let closed = protected(&issuer, &["polite"], "").await;
    // A page with a token that was stolen reads nothing either.
    let claims = json!({ "claims": { "aud": closed.url(), "sub": "alice", "scope": "tools" } });
    foreign_page(&closed, &issuer.mint(&claims).await?).await
}

async fn foreign_page(server: &Server, token: &str) -> Result<()> {
    let report = Browser.drive("foreign_page", "http", "any", vec![server.url(), token.to_owned()]).await?;
    let read = report["read"].as_object().context("the page tells what it has read")?;
    ensure!(read.len() > 15, "the page has tried all: {report}");
    for (attempt, got) in read {
        // The metadata are for every page (RFC 9728), so this only shows that the server was there.
        let is_metadata = attempt == "navigation to the name";
        ensure!(is_metadata || tells_nothing(got.as_str().unwrap_or_default()), "{attempt}: {got}");
    }
    let called = |line: &Value| line["event"] == "call" && line["caller"] != "server";
    ensure!(!server.audit().iter().any(called), "a foreign page has called a tool: {:?}", server.audit());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_inspector_calls_a_tool() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    Inspector.install().await?;
    let server = Server::builder().guest("polite").start().await;
    let report = Browser.drive("inspector_page", "http", "any", vec![server.url()]).await;
    let report = report.with_context(|| format!("the server said:\n{}", server.log()))?;
    ensure!(report["ok"] == true && report["tools"].as_u64() >= Some(4), "{report}");
    Ok(())
}

/// The page of version 1 asks the server by itself, from another origin and with a token.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_inspector_calls_a_tool_directly() -> Result<()> {
    if !browser::is_there() {
        return Ok(());
    }
    Inspector.install().await?;
    let issuer = AuthorizationServer::start(&[]).await?;
    let server = protected(&issuer, &["polite"], "").await;
    let claims = json!({ "claims": { "aud": server.url(), "sub": "alice", "scope": "tools" } });
    let target = vec![server.url(), issuer.mint(&claims).await?];
    let report = Browser.drive("inspector_direct", "http", "any", target).await;
    let report = report.with_context(|| format!("the server said:\n{}", server.log()))?;
    ensure!(report["ok"] == true && report["is_direct"] == true, "{report}");
    Ok(())
}
