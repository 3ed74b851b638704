//! Clients of other projects make a slow call with a question, over HTTP: a task in each generation that a client has,
//! and a plain call in the others. `docs/tasks.md` says which client has which.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plugport_tests::external_clients::ExternalClient::{self, FastMcp, TypeScript};
use plugport_tests::server::Server;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, GetTaskParams, Implementation,
    ProtocolVersion, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};

use crate::clients::python_typescript::agrees;

/// A call takes 5 s, with the question in the middle.
const CONFIG: &str = "[limits]\ntask_after_ms = 500\n[plugins.client_requests.grants]\nelicitation = true\n";

const TOOL: &str = "client_requests-slow";

/// The time between two looks at a task.
const PAUSE: Duration = Duration::from_millis(50);

async fn server() -> Server {
    Server::builder().guest("client_requests").config(CONFIG).start().await
}

async fn drive(client: ExternalClient, mode: &'static str, revision: &str) -> Result<()> {
    client.install().await?;
    let server = server().await;
    let report = client.drive("tasks", "http", mode, vec![server.url()]).await;
    agrees(&report.with_context(|| format!("the server said:\n{}", server.log()))?, revision)
}

#[tokio::test]
async fn ext_tasks_in_a_session() -> Result<()> {
    drive(TypeScript, "legacy", "2025-11-25").await
}

#[tokio::test]
async fn ext_tasks_stateless() -> Result<()> {
    drive(TypeScript, "modern", "2026-07-28").await
}

#[tokio::test]
async fn fastmcp_in_a_session_waits() -> Result<()> {
    drive(FastMcp, "legacy", "2025-11-25").await
}

#[tokio::test]
async fn fastmcp_tasks_stateless() -> Result<()> {
    drive(FastMcp, "modern", "2026-07-28").await
}

/// Answers the question of a call. Those of a task come with the task.
struct AnsweringHandler(ProtocolVersion);

type RmcpClient = RunningService<RoleClient, AnsweringHandler>;

impl ClientHandler for AnsweringHandler {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada" })))
    }

    fn get_info(&self) -> ClientConfig {
        let declared = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let capabilities: ClientCapabilities = serde_json::from_value(declared).unwrap();
        let info = ClientConfig::new(capabilities, Implementation::new("plugport-tests", "1.0.0"));
        info.with_protocol_version(self.0.clone())
    }
}

async fn connect(server: &Server, lifecycle: ClientLifecycleMode) -> Result<RmcpClient> {
    let revision = match &lifecycle {
        ClientLifecycleMode::Discover { .. } => ProtocolVersion::V_2026_07_28,
        _ => ProtocolVersion::V_2025_11_25,
    };
    let transport = StreamableHttpClientTransport::from_uri(server.url());
    let client = AnsweringHandler(revision.clone()).serve_with_lifecycle(transport, lifecycle).await?;
    let found = client.peer_info().context("the server introduced itself")?.protocol_version.clone();
    ensure!(found == revision, "the revision is {found}");
    Ok(client)
}

fn slow_call() -> CallToolRequestParams {
    let form =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let params = json!({ "message": "Who are you?", "requestedSchema": form });
    let question = json!({ "method": "elicitation/create", "params": params });
    CallToolRequestParams::new(TOOL).with_arguments(question.as_object().cloned().unwrap_or_default())
}

/// The id of the task of a slow call.
async fn start(client: &RmcpClient) -> Result<String> {
    match client.call_tool_once(slow_call()).await? {
        CallToolResponse::Task(created) => Ok(created.task.task_id),
        other => bail!("the slow call is no task: {other:?}"),
    }
}

/// Answers what a task asks. Returns its result once it has ended, and how often it asked.
async fn settle(client: &RmcpClient, id: &str) -> Result<(Value, usize)> {
    let mut asked = 0;
    loop {
        match client.get_task(GetTaskParams::new(id)).await?.task.payload {
            TaskPayload::Working => tokio::time::sleep(PAUSE).await,
            TaskPayload::InputRequired { input_requests } => {
                asked += input_requests.len();
                let response = json!({ "action": "accept", "content": { "name": "Ada" } });
                let responses: BTreeMap<String, Value> =
                    input_requests.into_keys().map(|key| (key, response.clone())).collect();
                client.update_task(UpdateTaskParams::new(id, responses)).await?;
            }
            TaskPayload::Completed { result } => return Ok((result.into(), asked)),
            other => bail!("the task has ended as {other:?}"),
        }
    }
}

#[tokio::test]
async fn rmcp_stateless() -> Result<()> {
    let server = server().await;
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = connect(&server, lifecycle).await?;
    let id = start(&client).await?;
    let (result, asked) = settle(&client, &id).await?;
    ensure!(asked == 1, "the task asked {asked} times");
    ensure!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("Ada")), "{result}");
    ensure!(settle(&client, &id).await? == (result, 0), "the result does not stay");
    let id = start(&client).await?;
    client.cancel_task(CancelTaskParams::new(&*id)).await?;
    while client.get_task(GetTaskParams::new(&*id)).await?.task.payload != TaskPayload::Cancelled {
        tokio::time::sleep(PAUSE).await;
    }
    client.cancel().await?;
    Ok(())
}

#[tokio::test]
async fn rmcp_in_a_session_waits() -> Result<()> {
    let server = server().await;
    let client = connect(&server, ClientLifecycleMode::Initialize).await?;
    let result = client.call_tool(slow_call()).await?;
    let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.as_str());
    ensure!(text.is_some_and(|text| text.contains("Ada")), "{result:?}");
    client.cancel().await?;
    Ok(())
}
