//! Guests send client requests to the client of rmcp, the official Rust SDK, in every revision that it speaks, over
//! HTTP and stdio.
#![expect(deprecated, reason = "sampling and roots are deprecated in the newest revision and still served")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plugport_tests::server::{self, Server};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientInfo, ClientRequest,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, Implementation, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion, RequestMetaObject, Root, SamplingMessage,
    SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};

use crate::mcp::conformance::granted;

/// The maximum time until notifications arrive, which a task of their own delivers.
const ARRIVAL: Duration = Duration::from_secs(5);

/// The notifications that arrived.
#[derive(Default)]
struct ReceivedRequests {
    logs: AtomicUsize,
    progress: AtomicUsize,
}

/// Responds to every client request, in this revision.
struct AnsweringHandler {
    revision: ProtocolVersion,
    heard: Arc<ReceivedRequests>,
}

impl ClientHandler for AnsweringHandler {
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let message = SamplingMessage::assistant_text("well met");
        Ok(CreateMessageResult::new(message, "test".to_owned()).with_stop_reason("endTurn"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///somewhere")]))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let content =
            json!({ "username": "ada", "email": "ada@example.com", "name": "Ada", "color": "blue" });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_logging_message(
        &self,
        _: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.heard.logs.fetch_add(1, Ordering::Relaxed);
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.progress.fetch_add(1, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientInfo {
        let declared = json!({ "sampling": {}, "roots": {}, "elicitation": {} });
        let capabilities: ClientCapabilities = serde_json::from_value(declared).unwrap();
        let info = ClientInfo::new(capabilities, Implementation::new("plugport-tests", "1.0.0"));
        info.with_protocol_version(self.revision.clone())
    }
}

async fn converse<T, E, A>(transport: T, revision: ProtocolVersion) -> Result<()>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = match revision == ProtocolVersion::V_2026_07_28 {
        true => ClientLifecycleMode::Discover { preferred_versions: vec![revision.clone()] },
        false => ClientLifecycleMode::Initialize,
    };
    let heard = Arc::<ReceivedRequests>::default();
    let answering = AnsweringHandler { revision: revision.clone(), heard: Arc::clone(&heard) };
    let client = answering.serve_with_lifecycle(transport, lifecycle).await?;
    let found = client.peer_info().context("the server introduced itself")?.protocol_version.clone();
    ensure!(found == revision, "the revision is {found}");
    asks(&client, revision >= ProtocolVersion::V_2025_06_18).await?;
    tells(&client, &revision, &heard).await?;
    client.cancel().await?;
    Ok(())
}

/// Tools that send client requests. The first two revisions have no elicitation.
async fn asks(client: &RunningService<RoleClient, AnsweringHandler>, elicits: bool) -> Result<()> {
    for (tool, arguments, told, asks_person) in [
        ("test_sampling", json!({ "prompt": "Greet me." }), "LLM response: well met", false),
        ("test_input_required_result_list_roots", json!({}), "file:///somewhere", false),
        ("test_elicitation", json!({ "message": "Who?" }), "ada@example.com", true),
        ("test_input_required_result_multiple_inputs", json!({}), "well met Ada has 1 roots.", true),
        ("test_input_required_result_multi_round", json!({}), "Ada likes blue", true),
    ] {
        if asks_person && !elicits {
            continue;
        }
        let arguments = Value::as_object(&arguments).cloned().unwrap_or_default();
        let result = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
        let result = result.with_context(|| tool)?;
        let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.as_str());
        ensure!(text.is_some_and(|text| text.contains(told)), "{tool}: {result:?}");
    }
    Ok(())
}

/// Tools that log and report progress, and handlers that receive both.
async fn tells(
    client: &RunningService<RoleClient, AnsweringHandler>,
    revision: &ProtocolVersion,
    heard: &ReceivedRequests,
) -> Result<()> {
    let mut meta = RequestMetaObject::new();
    if *revision == ProtocolVersion::V_2026_07_28 {
        meta.set_log_level(LoggingLevel::Info);
    } else {
        client.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await?;
    }
    for tool in ["test_tool_with_logging", "test_tool_with_progress"] {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new(tool)));
        let options = PeerRequestOptions::no_options().with_meta(meta.clone());
        client.send_cancellable_request(request, options).await?.await_response().await?;
    }
    let count = || (heard.logs.load(Ordering::Relaxed), heard.progress.load(Ordering::Relaxed));
    let arriving = async {
        while count() != (3, 3) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let arrived = tokio::time::timeout(ARRIVAL, arriving).await;
    arrived.with_context(|| format!("3 logs and 3 reports arrive; found {:?}", count()))
}

async fn over_http(revision: ProtocolVersion) -> Result<()> {
    let state = tempfile::tempdir()?;
    let server = Server::builder().guest("conformance").config(&granted(state.path())).start().await;
    let conversation = converse(StreamableHttpClientTransport::from_uri(server.url()), revision).await;
    conversation.with_context(|| format!("the server said:\n{}", server.log()))
}

async fn over_stdio(revision: ProtocolVersion) -> Result<()> {
    let (state, plugins) = (tempfile::tempdir()?, server::folder(&["conformance"]));
    let config = state.path().join("plugport.toml");
    std::fs::write(&config, granted(&state.path().join("state")))?;
    let mut command = tokio::process::Command::from(server::program());
    command.args(["serve", "--stdio", "--plugins"]).arg(plugins.path()).arg("--config").arg(config);
    converse(TokioChildProcess::new(command)?, revision).await
}

macro_rules! conversations {
    ($( $name:ident: $transport:ident $revision:ident; )*) => {
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                $transport(ProtocolVersion::$revision).await
            }
        )*
    };
}

conversations! {
    rmcp_answers_with_sessions_over_http: over_http V_2025_11_25;
    rmcp_answers_with_sessions_over_stdio: over_stdio V_2025_11_25;
    rmcp_answers_stateless_over_http: over_http V_2026_07_28;
    rmcp_answers_stateless_over_stdio: over_stdio V_2026_07_28;
    rmcp_answers_as_of_2025_06_18_over_http: over_http V_2025_06_18;
    rmcp_answers_as_of_2025_03_26_over_http: over_http V_2025_03_26;
    rmcp_answers_as_of_2024_11_05_over_http: over_http V_2024_11_05;
    rmcp_answers_as_of_2024_11_05_over_stdio: over_stdio V_2024_11_05;
}
