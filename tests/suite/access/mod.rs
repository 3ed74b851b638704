//! Who may call, and what each caller sees and uses: tokens, logins, client certificates, DPoP, roles, scopes, quotas,
//! what belongs to one principal (sessions, streams, key-value stores), and the addresses behind proxies.
//!
//! Each test starts the real binary, most of them with `[auth]`. TLS of the listener is here, `Host` and `Origin` are
//! in `http`, and rates and limits that hold without `[auth]` are in `limits`.

mod access_command;
mod dpop;
mod foreign_tokens;
mod keyvalue_per_caller;
mod oauth;
mod principal_isolation;
mod quotas;
mod refused_calls;
mod resource_links;
mod rmcp_login;
mod roles;
mod static_tokens;
mod task_access;
mod tls;
mod trusted_proxies;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use plugport_tests::authorization_server::AuthorizationServer;
use plugport_tests::http_client::{Client, STATELESS, Stream, stateless_meta};
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// The tokens of two callers.
pub(crate) const ADA: &str = "plugport_ada-0123456789abcdefghijklmnopqrstuvwxyz";
pub(crate) const BOB: &str = "plugport_bob-0123456789abcdefghijklmnopqrstuvwxyz";

/// A section for a token, with more keys.
pub(crate) fn section(name: &str, token: &str, more: &str) -> String {
    let digest: String = Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[auth.tokens]]\nname = \"{name}\"\nsha256 = \"{digest}\"\n{more}\n")
}

/// The sections for both callers.
pub(crate) fn both() -> String {
    section("ada", ADA, "") + &section("bob", BOB, "")
}

/// Starts a server with these guests, whose tokens `issuer` makes; `polite-add` needs the scope `tools:write`. Its
/// address is in its configuration, so the port is chosen before.
pub(crate) async fn protected(issuer: &AuthorizationServer, guests: &[&str], more: &str) -> Server {
    let listen = free_address();
    let config = format!(
        "[auth]\nresource = \"http://{listen}/mcp\"\nscopes = [\"tools\"]\n\
         [[auth.issuers]]\nissuer = \"{}\"\ngroups = \"/groups\"\n{more}\
         [plugins.polite.tools.add]\nscopes = [\"tools:write\"]\n",
        issuer.issuer
    );
    let builder = Server::builder().config(&config).listen(listen);
    guests.iter().fold(builder, |builder, guest| builder.guest(guest)).start().await
}

/// An address of this machine that nobody uses now.
fn free_address() -> &'static str {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("127.0.0.1:{port}").leak()
}

/// The exit code and the output of `plugport token check`.
async fn check_token(config: &Path, token: &str) -> (Option<i32>, String) {
    let mut checking = Command::from(program());
    checking.args(["token", "check", "--config"]).arg(config);
    checking.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = checking.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(token.as_bytes()).await.unwrap();
    drop(stdin);
    let checked = child.wait_with_output().await.unwrap();
    (checked.status.code(), String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap())
}

/// Waits until the log has so many records of level trace from each of these modules, and returns the log. That a log
/// has no secret says something only if those who handle the secret wrote into that log.
async fn traced(server: &Server, modules: &[(&str, usize)]) -> String {
    let begun = Instant::now();
    loop {
        let log = server.log();
        let count = |module: &str| log.matches(&format!("TRACE plugport::{module}: ")).count();
        let missing = modules.iter().find(|(module, least)| count(module) < *least);
        let Some(missing) = missing else { return log };
        assert!(begun.elapsed() < Duration::from_secs(10), "not as many as {missing:?}:\n{log}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn as_caller(server: &Server, token: &str) -> Client {
    Client::with_token(server.url(), token)
}

/// Listens to changes without a session, by a request with the id `l`.
pub(crate) async fn listen(client: &Client, notifications: Value) -> Stream {
    let params = json!({ "notifications": notifications, "_meta": stateless_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
    let mut stream = client.stream(&headers, &body).await;
    assert_eq!(stream.message().await["method"], "notifications/subscriptions/acknowledged");
    stream
}
