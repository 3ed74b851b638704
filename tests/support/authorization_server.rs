//! The authorization server of `tests/clients/authorization-server`, which approves every login at once.
//!
//! Its protocol is that of another project, so the tokens are none that this project made. Besides, it has paths for
//! tests: they rotate its keys, simulate an outage, count requests and mint tokens that no honest server would sign.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::external_clients::ExternalClient;

/// How long it may take to start, beside other tests.
const START_TIME: Duration = Duration::from_secs(60);

/// A running authorization server, which ends when it is dropped.
pub struct AuthorizationServer {
    /// The line of JSON with which the server introduces itself: the issuer, and the clients that it knows. The scripts
    /// that log in take it as an argument.
    pub introduction: String,
    pub issuer: String,
    http: reqwest::Client,
    _process: Child,
}

impl AuthorizationServer {
    /// Starts a server on a free port, with options such as `--format opaque`.
    pub async fn start(options: &[&str]) -> Result<Self> {
        // This may wait for other tests that install, so it has no limit here.
        ExternalClient::AuthorizationServer.install().await?;
        // Node.js 20 has been seen to hang before it runs a line.
        match timeout(START_TIME, Self::start_once(options)).await {
            Ok(started) => started,
            Err(_) => {
                timeout(START_TIME, Self::start_once(options)).await.context("the server does not start")?
            }
        }
    }

    async fn start_once(options: &[&str]) -> Result<Self> {
        let command = || ExternalClient::AuthorizationServer.command("authorization_server");
        let mut command = Command::from(tokio::task::spawn_blocking(command).await??);
        // The server ends with its standard input, even when this process is killed.
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.kill_on_drop(true).spawn().context("the server does not start")?;
        let stdout = process.stdout.take().context("the output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let introduction = line.trim_end().to_owned();
        let fields: Value = serde_json::from_str(&introduction).context("the server ended early")?;
        let issuer = fields["issuer"].as_str().context("the server names its issuer")?.to_owned();
        Ok(Self { introduction, issuer, http: reqwest::Client::new(), _process: process })
    }

    /// Adds a key, which signs from now on, and returns its id. `drop` withdraws the older ones of the algorithm.
    pub async fn rotate(&self, drop: bool) -> Result<String> {
        let rotated = self.test("rotate", &json!({ "drop": drop })).await?;
        Ok(rotated["kid"].as_str().context("a key has an id")?.to_owned())
    }

    /// Mints a token: `{"key", "header", "claims", "payload"}`, of which `null` takes a default field away.
    pub async fn mint(&self, wish: &Value) -> Result<String> {
        let minted = self.test("token", wish).await?;
        Ok(minted["access_token"].as_str().context("a token is text")?.to_owned())
    }

    /// Responds to everything but the tests with a status from now on; 0 ends that.
    pub async fn outage(&self, status: u16, delay_ms: u64) -> Result<()> {
        self.test("outage", &json!({ "status": status, "delay_ms": delay_ms })).await.map(drop)
    }

    /// How many requests a path, such as `/jwks`, has had.
    pub async fn requests(&self, path: &str) -> Result<u64> {
        Ok(self.test("requests", &json!({})).await?[path].as_u64().unwrap_or(0))
    }

    async fn test(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("{}/test/{path}", self.issuer);
        let response = self.http.post(url).body(body.to_string()).send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status.is_success(), "the authorization server: {text}");
        Ok(serde_json::from_str(&text)?)
    }
}
