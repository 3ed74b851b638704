//! The client of rmcp, the official Rust SDK, holds the same conversation as the clients in `tests/clients`. It runs in
//! this process, so a failure can be debugged.
#![expect(deprecated, reason = "logging is deprecated in the newest revision and still served")]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plugport_tests::build::xdg_homes;
use plugport_tests::guests::allow_long_start;
use plugport_tests::server::{self, Server};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ErrorCode, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, RequestMetaObject,
    ServerResult, SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const STEPS: usize = 3;
const ARRIVAL: Duration = Duration::from_secs(5);

type Client = RunningService<RoleClient, Listener>;

/// How the client and the server find their revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientMode {
    Sessions,
    Stateless,
    Newest,
}

impl ClientMode {
    pub(crate) fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Sessions => ClientLifecycleMode::Initialize,
            Self::Stateless => ClientLifecycleMode::Discover { preferred_versions },
            Self::Newest => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        }
    }

    fn revision(self) -> ProtocolVersion {
        match self {
            Self::Sessions => ProtocolVersion::V_2025_11_25,
            Self::Stateless | Self::Newest => ProtocolVersion::V_2026_07_28,
        }
    }
}

/// Forwards the server's notifications.
struct Listener {
    progress: mpsc::Sender<f64>,
    logs: mpsc::Sender<LoggingLevel>,
}

impl ClientHandler for Listener {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(params.progress).await;
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.logs.send(params.level).await;
    }
}

async fn converse<T, E, A>(transport: T, client_mode: ClientMode) -> Result<()>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (progress, heard_progress) = mpsc::channel(64);
    let (logs, heard_logs) = mpsc::channel(64);
    let client = Listener { progress, logs }.serve_with_lifecycle(transport, client_mode.lifecycle()).await?;
    let revision = client.peer_info().context("the server introduced itself")?.protocol_version.clone();
    ensure!(revision == client_mode.revision(), "the revision is {revision}");
    lists_the_tools(&client).await?;
    answers_calls(&client).await?;
    check_rejections(&client).await?;
    narrates(&client, client_mode, heard_progress, heard_logs).await?;
    client.cancel().await?;
    Ok(())
}

async fn lists_the_tools(client: &Client) -> Result<()> {
    let tools = client.list_all_tools().await?;
    for name in ["polite-echo", "polite-add", "polite-fail", "polite-narrate"] {
        ensure!(tools.iter().any(|tool| tool.name == name), "{name} is not listed: {tools:?}");
    }
    Ok(())
}

async fn answers_calls(client: &Client) -> Result<()> {
    let echo = client.call_tool(params("polite-echo", json!({ "message": "héllo ✓" }))).await?;
    ensure!(!failed(&echo) && text(&echo) == "héllo ✓", "{echo:?}");

    let added = client.call_tool(params("polite-add", json!({ "a": 2, "b": 40 }))).await?;
    ensure!(added.structured_content == Some(json!({ "sum": 42 })), "{added:?}");

    let sorry = client.call_tool(params("polite-fail", json!({ "reason": "no luck" }))).await?;
    let chain = text(&sorry);
    ensure!(failed(&sorry) && chain.contains("no luck") && chain.contains("caused by: "), "{sorry:?}");
    Ok(())
}

async fn check_rejections(client: &Client) -> Result<()> {
    let wrong = client.call_tool(params("polite-add", json!({ "a": "two", "b": 40 }))).await?;
    ensure!(failed(&wrong) && text(&wrong).contains("/a"), "{wrong:?}");

    let unknown = client.call_tool(params("polite-missing", json!({}))).await;
    let code = match &unknown {
        Err(ServiceError::McpError(error)) => Some(error.code),
        _ => None,
    };
    ensure!(code == Some(ErrorCode::INVALID_PARAMS), "{unknown:?}");
    Ok(())
}

async fn narrates(
    client: &Client,
    client_mode: ClientMode,
    mut progress: mpsc::Receiver<f64>,
    mut logs: mpsc::Receiver<LoggingLevel>,
) -> Result<()> {
    let mut meta = RequestMetaObject::new();
    if client_mode == ClientMode::Sessions {
        client.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await?;
    } else {
        meta.set_log_level(LoggingLevel::Info);
    }
    let request = CallToolRequest::new(params("polite-narrate", json!({ "steps": STEPS })));
    let options = PeerRequestOptions::no_options().with_meta(meta);
    // A list that waited for the initial load may have sent progress.
    while progress.try_recv().is_ok() {}
    let call = client.send_cancellable_request(ClientRequest::CallToolRequest(request), options).await?;
    let response = call.await_response().await?;
    ensure!(matches!(response, ServerResult::CallToolResult(_)), "{response:?}");
    let reported = arrived(&mut progress).await.context("progress")?;
    ensure!(reported.is_sorted() && progress.try_recv().is_err(), "{reported:?}");
    arrived(&mut logs).await.context("logs")?;
    Ok(())
}

/// One notification for every step. A task of their own delivers them, which may run after the response.
async fn arrived<T: std::fmt::Debug>(heard: &mut mpsc::Receiver<T>) -> Result<Vec<T>> {
    let mut found = Vec::new();
    while found.len() < STEPS {
        let next = tokio::time::timeout(ARRIVAL, heard.recv()).await;
        let next = next.ok().flatten().with_context(|| format!("expected {STEPS}, found {found:?}"))?;
        found.push(next);
    }
    Ok(found)
}

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

fn failed(result: &CallToolResult) -> bool {
    result.is_error == Some(true)
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    texts.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
}

async fn over_http(client_mode: ClientMode) -> Result<()> {
    let server = Server::builder().guest("polite").start().await;
    let conversation = converse(StreamableHttpClientTransport::from_uri(server.url()), client_mode).await;
    conversation.with_context(|| format!("the server said:\n{}", server.log()))
}

async fn over_stdio(client_mode: ClientMode) -> Result<()> {
    let plugins = server::folder(&["polite"]);
    let mut command = tokio::process::Command::from(server::program());
    allow_long_start(plugins.path());
    command
        .args(["serve", "--stdio", "--plugins"])
        .arg(plugins.path())
        .current_dir(plugins.path())
        .envs(xdg_homes(plugins.path()));
    converse(TokioChildProcess::new(command)?, client_mode).await
}

#[tokio::test]
async fn rmcp_with_sessions_over_http() -> Result<()> {
    over_http(ClientMode::Sessions).await
}

#[tokio::test]
async fn rmcp_with_sessions_over_stdio() -> Result<()> {
    over_stdio(ClientMode::Sessions).await
}

#[tokio::test]
async fn rmcp_stateless_over_http() -> Result<()> {
    over_http(ClientMode::Stateless).await
}

#[tokio::test]
async fn rmcp_stateless_over_stdio() -> Result<()> {
    over_stdio(ClientMode::Stateless).await
}

#[tokio::test]
async fn rmcp_finds_the_newest_over_http() -> Result<()> {
    over_http(ClientMode::Newest).await
}
