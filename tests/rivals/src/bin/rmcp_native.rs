//! The same tools as native code in a server of the crate rmcp.
//!
//! `rivals-rmcp PORT [COUNT]` serves HTTP, `rivals-rmcp stdio` one client; COUNT tools are listed instead of the four.

#![allow(
    deprecated,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark stops at the first surprise; log messages and sampling are deprecated and still served"
)]

use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt as _;
use plugport_rivals::tools::{description, tools, work};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateMessageRequest,
    CreateMessageRequestParams, ErrorData, InputRequest, InputRequests, InputRequiredResult, JsonObject,
    ListToolsResult, LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, SamplingMessage, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt as _};
use tokio::net::TcpListener;

#[derive(Clone)]
struct Native {
    tools: Arc<Vec<Tool>>,
}

impl ServerHandler for Native {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_logging().enable_tools().build())
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.as_ref().clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "rivals-work" => {
                let steps = argument(&request, "steps").as_u64().unwrap_or_default();
                let steps = u32::try_from(steps).unwrap();
                let value = tokio::task::spawn_blocking(move || work(steps)).await.unwrap();
                Ok(text(value.to_string()))
            }
            "rivals-narrate" => narrate(&context).await,
            "rivals-sample" => sample(&request, &context).await,
            _ => Ok(text(argument(&request, "message").as_str().unwrap_or_default().to_owned())),
        }
    }
}

fn argument<'r>(request: &'r CallToolRequestParams, name: &str) -> &'r serde_json::Value {
    let arguments = request.arguments.as_ref();
    arguments.and_then(|arguments| arguments.get(name)).unwrap_or(&serde_json::Value::Null)
}

fn text(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

async fn narrate(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, "working".into());
    context.peer.notify_logging_message(log).await.unwrap();
    if let Some(token) = context.meta.get_progress_token() {
        let progress = ProgressNotificationParam::new(token, 1.0).with_total(1.0);
        context.peer.notify_progress(progress).await.unwrap();
    }
    Ok(text("told".to_owned()))
}

async fn sample(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text("Greet me.")], 9);
    if context.protocol_version().is_none_or(|version| version != ProtocolVersion::V_2026_07_28) {
        let answer = context.peer.create_message(params).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        return Ok(text(serde_json::to_string(&answer).unwrap()));
    }
    if let Some(answers) = &request.input_responses {
        return Ok(text(serde_json::to_string(answers).unwrap()));
    }
    let asked = InputRequest::CreateMessage(CreateMessageRequest::new(params));
    let requests = InputRequests::from([("1".to_owned(), asked)]);
    Ok(InputRequiredResult::new(Some(requests), Some("state".to_owned())).into())
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let how = arguments.get(1).expect("rivals-rmcp PORT|stdio [COUNT]");
    let count = arguments.get(2).map_or(0, |count| count.parse().unwrap());
    let tool = |(name, schema): (String, &str)| {
        let schema: JsonObject = serde_json::from_str(schema).unwrap();
        let description = description(&name);
        Tool::new(name, description, schema)
    };
    let native = Native { tools: Arc::new(tools(count).into_iter().map(tool).collect()) };
    if how == "stdio" {
        native.serve(stdio_pipes()).await.unwrap().waiting().await.unwrap();
        return;
    }
    // Requests of 2026-07-28 never have a session.
    let config =
        StreamableHttpServerConfig::default().with_legacy_session_mode(true).with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(native.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let listener = TcpListener::bind(("127.0.0.1", how.parse::<u16>().unwrap())).await.unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, Router::new().route_service("/mcp", service)).await.unwrap();
}
