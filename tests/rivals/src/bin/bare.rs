//! A floor and not a server: an axum handler that writes the bytes which Plugport writes, and checks nothing.
//!
//! `rivals-bare PORT [FILE]`; the file holds the result of `tools/list`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops at the first surprise")]

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use plugport_rivals::tools::work;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

const COMPLETE: &str = r#""resultType":"complete","#;
const SERVER: &str = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"plugport","title":"Plugport","version":"0.1.0"}}"#;
const INPUT: &str = r#"{"resultType":"input_required","inputRequests":{"1":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Greet me."}}],"maxTokens":9}}},"requestState":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0.1.0"}}"#;
const NOTIFICATIONS: &str = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"working\"}}\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"told\",\"progress\":1.0,\"total\":1.0}}\n\n";

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "inputResponses")]
    responses: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    message: String,
    #[serde(default)]
    steps: u32,
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let port: u16 = arguments.get(1).and_then(|port| port.parse().ok()).expect("rivals-bare PORT [FILE]");
    let list = arguments.get(2).map(|file| std::fs::read_to_string(file).unwrap()).unwrap_or_default();
    let limit = DefaultBodyLimit::max(4 << 20);
    let router = Router::new().route("/mcp", post(handle)).layer(limit).with_state(Arc::new(list));
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, router).await.unwrap();
}

async fn handle(State(list): State<Arc<String>>, body: Bytes) -> Response {
    let request: Request<'_> = serde_json::from_slice(&body).unwrap();
    let Some(id) = request.id else { return StatusCode::ACCEPTED.into_response() };
    match request.method {
        "initialize" => ([("mcp-session-id", "1")], json(id, INITIALIZED)).into_response(),
        "tools/list" => json(id, &list),
        "tools/call" => call(id, request.params.unwrap()).await,
        _ => json(id, "{}"),
    }
}

async fn call(id: &RawValue, params: Params<'_>) -> Response {
    let arguments: Arguments = serde_json::from_str(params.arguments.map_or("{}", RawValue::get)).unwrap();
    // Only requests that stand alone say their revision.
    let stateless = params.meta.is_some_and(|meta| meta.get().contains("protocolVersion"));
    match params.name {
        Some("rivals-work") => {
            let text = tokio::task::spawn_blocking(move || work(arguments.steps)).await.unwrap();
            json(id, &result(&text.to_string(), stateless))
        }
        Some("rivals-narrate") => {
            let last = message(id, &result("told", stateless));
            let events = format!("{NOTIFICATIONS}event: message\ndata: {last}\n\n");
            ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()
        }
        Some("rivals-sample") if params.responses.is_none() => json(id, INPUT),
        _ => json(id, &result(&arguments.message, stateless)),
    }
}

fn result(text: &str, stateless: bool) -> String {
    let text = serde_json::to_string(text).unwrap();
    let (complete, server) = if stateless { (COMPLETE, format!(",{SERVER}")) } else { ("", String::new()) };
    format!(r#"{{{complete}"content":[{{"type":"text","text":{text}}}]{server}}}"#)
}

fn json(id: &RawValue, result: &str) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], message(id, result)).into_response()
}

fn message(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
