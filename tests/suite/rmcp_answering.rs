//! Tools ask the client of rmcp, the official Rust SDK, whose handlers answer: in both eras, over HTTP and stdio.
#![expect(deprecated, reason = "sampling and roots are deprecated in the newest revision and still served")]

use anyhow::{Context as _, Result, ensure};
use plugport_tests::server::{self, Server};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientInfo, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation, ListRootsResult,
    ProtocolVersion, Root, SamplingMessage,
};
use rmcp::service::RequestContext;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};

use crate::conformance::granted;

/// Answers everything.
struct Answering;

impl ClientHandler for Answering {
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

    fn get_info(&self) -> ClientInfo {
        let declared = json!({ "sampling": {}, "roots": {}, "elicitation": {} });
        let capabilities: ClientCapabilities = serde_json::from_value(declared).unwrap();
        ClientInfo::new(capabilities, Implementation::new("plugport-tests", "1.0.0"))
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
    let client = Answering.serve_with_lifecycle(transport, lifecycle).await?;
    let found = client.peer_info().context("the server introduced itself")?.protocol_version.clone();
    ensure!(found == revision, "the revision is {found}");
    for (tool, arguments, told) in [
        ("test_sampling", json!({ "prompt": "Greet me." }), "LLM response: well met"),
        ("test_elicitation", json!({ "message": "Who?" }), "ada@example.com"),
        ("test_input_required_result_list_roots", json!({}), "file:///somewhere"),
        ("test_input_required_result_multiple_inputs", json!({}), "well met Ada has 1 roots."),
        ("test_input_required_result_multi_round", json!({}), "Ada likes blue"),
    ] {
        let arguments = Value::as_object(&arguments).cloned().unwrap_or_default();
        let result = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
        let result = result.with_context(|| tool)?;
        let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.as_str());
        ensure!(text.is_some_and(|text| text.contains(told)), "{tool}: {result:?}");
    }
    client.cancel().await?;
    Ok(())
}

async fn over_http(revision: ProtocolVersion) -> Result<()> {
    let state = tempfile::tempdir()?;
    let server = Server::builder().guest("conformance").config(&granted(state.path())).start().await;
    let conversation = converse(StreamableHttpClientTransport::from_uri(server.url()), revision).await;
    conversation.with_context(|| format!("the server said:\n{}", server.said()))
}

async fn over_stdio(revision: ProtocolVersion) -> Result<()> {
    let (state, plugins) = (tempfile::tempdir()?, server::folder(&["conformance"]));
    let config = state.path().join("plugport.toml");
    std::fs::write(&config, granted(&state.path().join("state")))?;
    let mut command = tokio::process::Command::new(server::binary());
    command.args(["serve", "--stdio", "--plugins"]).arg(plugins.path()).arg("--config").arg(config);
    converse(TokioChildProcess::new(command)?, revision).await
}

#[tokio::test]
async fn rmcp_answers_with_sessions_over_http() -> Result<()> {
    over_http(ProtocolVersion::V_2025_11_25).await
}

#[tokio::test]
async fn rmcp_answers_with_sessions_over_stdio() -> Result<()> {
    over_stdio(ProtocolVersion::V_2025_11_25).await
}

#[tokio::test]
async fn rmcp_answers_stateless_over_http() -> Result<()> {
    over_http(ProtocolVersion::V_2026_07_28).await
}

#[tokio::test]
async fn rmcp_answers_stateless_over_stdio() -> Result<()> {
    over_stdio(ProtocolVersion::V_2026_07_28).await
}
