//! Behind nginx with a path prefix, clients of Streamable HTTP and of HTTP+SSE work: responses are not buffered, and
//! client requests reach the client.
//!
//! Skipped, with a message, where nginx is not installed.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use plugport_tests::external_clients::ExternalClient::{self, Python, TypeScript, TypeScriptV1};
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::mcp::conformance::granted;

/// nginx with a configuration of its own, killed when dropped.
struct Nginx {
    _process: Child,
    _home: tempfile::TempDir,
    port: u16,
}

impl Nginx {
    /// `None` when there is no nginx on this machine.
    async fn in_front_of(server: &Server) -> Result<Option<Self>> {
        let version = Command::new("nginx").arg("-v").stderr(Stdio::null()).status().await;
        if !version.is_ok_and(|status| status.success()) {
            skip("nginx is not installed; `apt-get install nginx-light` adds it");
            return Ok(None);
        }
        let home = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let upstream = server.url().trim_end_matches("/mcp").trim_start_matches("http://").to_owned();
        let file = home.path().join("nginx.conf");
        std::fs::write(&file, configuration(home.path(), port, &upstream))?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(home.path()).arg("-c").arg(&file).args(["-e", "stderr", "-g", "daemon off;"]);
        let process = command.stderr(Stdio::null()).kill_on_drop(true).spawn()?;
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return Ok(Some(Self { _process: process, _home: home, port }));
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        anyhow::bail!("nginx does not listen")
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/tools{path}", self.port)
    }
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests should know what they did not test")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// The configuration in `docs/http.md`, with paths for a user other than root. Buffering stays on, the default.
fn configuration(home: &Path, port: u16, upstream: &str) -> String {
    let dir = home.display();
    format!(
        "pid {dir}/pid;\nerror_log stderr;\nworker_processes 1;\nmaster_process off;\nevents {{}}\n\
         http {{\n\
         access_log off;\n\
         client_body_temp_path {dir}/body;\nproxy_temp_path {dir}/proxy;\nfastcgi_temp_path {dir}/fastcgi;\n\
         uwsgi_temp_path {dir}/uwsgi;\nscgi_temp_path {dir}/scgi;\n\
         server {{\nlisten 127.0.0.1:{port};\n\
         location /tools/ {{\n\
         proxy_pass http://{upstream}/;\nproxy_http_version 1.1;\nproxy_set_header Host $host;\n\
         proxy_set_header X-Forwarded-Prefix /tools;\nproxy_read_timeout 1h;\n\
         }}\n}}\n}}\n"
    )
}

async fn through(client: ExternalClient, transport: &'static str, mode: &'static str) -> Result<()> {
    client.install().await?;
    let state = tempfile::tempdir()?;
    let server = Server::builder().guest("conformance").config(&granted(state.path())).start().await;
    let Some(nginx) = Nginx::in_front_of(&server).await? else { return Ok(()) };
    let url = nginx.url(if transport == "sse" { "/sse" } else { "/mcp" });
    let report = client.drive("client_requests", transport, mode, vec![url]).await;
    let report = report.with_context(|| format!("the server said:\n{}", server.log()))?;
    ensure!(report["ok"] == true, "unexpected report {report}");
    Ok(())
}

#[tokio::test]
async fn a_session_works_through_nginx() -> Result<()> {
    through(Python, "http", "legacy").await
}

#[tokio::test]
async fn a_stateless_client_works_through_nginx() -> Result<()> {
    through(TypeScript, "http", "modern").await
}

#[tokio::test]
async fn clients_of_http_and_sse_work_through_nginx() -> Result<()> {
    through(Python, "sse", "legacy").await?;
    through(TypeScriptV1, "sse", "2024-11-05").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_to_post_to_has_the_prefix() -> Result<()> {
    let server = Server::builder().guest("polite").start().await;
    let Some(nginx) = Nginx::in_front_of(&server).await? else { return Ok(()) };
    let mut stream = Client::new(nginx.url("/sse")).listen(&[]).await;
    let endpoint = stream.event().await.context("an event")?;
    ensure!(endpoint.data.starts_with("/tools/messages?sessionId="), "{endpoint:?}");
    let echo = Client::new(nginx.url("/mcp")).call("polite-echo", json!({ "message": "through" })).await;
    ensure!(echo.tool_text() == "through", "{echo:?}");
    Ok(())
}
