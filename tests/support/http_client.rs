//! A client of Streamable HTTP that shows headers, status and messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::mcp_schema::{Conversation, SentRequests};

/// The newest revision with sessions, and the stateless one.
pub const LEGACY: &str = "2025-11-25";
pub const STATELESS: &str = "2026-07-28";

/// How long a test waits for an event.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The response to one POST.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// Every message of a JSON body or of a stream.
    pub messages: Vec<Value>,
}

impl HttpResponse {
    /// The last message, which is the response.
    pub fn response(&self) -> &Value {
        self.messages.last().unwrap_or_else(|| panic!("no message in {self:?}"))
    }

    pub fn result(&self) -> &Value {
        self.response().get("result").unwrap_or_else(|| panic!("no result in {self:?}"))
    }

    pub fn error_code(&self) -> i64 {
        self.response()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error in {self:?}"))
    }

    /// The text of a tool's result.
    pub fn tool_text(&self) -> &str {
        self.result()["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {self:?}"))
    }

    /// The text of a tool's result, which must have `isError`.
    pub fn tool_error(&self) -> &str {
        assert_eq!(self.result()["isError"], true, "{self:?}");
        self.tool_text()
    }

    /// Notifications of this method, in order.
    pub fn notifications(&self, method: &str) -> Vec<&Value> {
        self.messages.iter().filter(|message| message["method"] == method).collect()
    }
}

/// A client of one server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    sent: SentRequests,
}

impl Client {
    pub fn new(url: impl Into<String>) -> Self {
        Self { http: reqwest::Client::new(), url: url.into(), sent: SentRequests::default() }
    }

    /// A client that sends this bearer token with every request.
    pub fn with_token(url: impl Into<String>, token: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        let http = reqwest::Client::builder().default_headers(headers).build().unwrap();
        Self { http, ..Self::new(url) }
    }

    /// A client at another address of this machine.
    pub fn from(url: impl Into<String>, address: [u8; 4]) -> Self {
        let local = std::net::IpAddr::from(address);
        let http = reqwest::Client::builder().local_address(local).build().unwrap();
        Self { http, ..Self::new(url) }
    }

    /// The same client, at another address of the server.
    pub fn at(&self, url: impl Into<String>) -> Self {
        Self { url: url.into(), ..self.clone() }
    }

    /// Sends a body unchanged, with the headers that every client sends, and `headers` in addition or instead. A header
    /// that is twice in `headers` is sent twice.
    pub async fn post(&self, headers: &[(&str, &str)], body: impl Into<String>) -> HttpResponse {
        let mut all = HeaderMap::new();
        all.insert("content-type", HeaderValue::from_static("application/json"));
        all.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        for (at, (name, value)) in headers.iter().enumerate() {
            let repeated = headers[..at].iter().any(|earlier| earlier.0 == *name);
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            let value = value.parse().unwrap();
            if repeated {
                all.append(name, value)
            } else {
                all.insert(name, value).is_some()
            };
        }
        let body = body.into();
        let mut conversation = self.conversation(headers, &body);
        let sent = self.http.post(&self.url).headers(all).body(body).send().await.unwrap();
        let (status, headers) = (sent.status().as_u16(), sent.headers().clone());
        let text = sent.text().await.unwrap();
        let messages = messages(&text);
        messages.iter().for_each(|message| conversation.received(message));
        HttpResponse { messages, status, headers, text }
    }

    /// A request of the stateless revision, with its MCP headers.
    pub async fn request(&self, method: &str, params: Value) -> HttpResponse {
        self.request_with_meta(method, params, json!({})).await
    }

    /// The same with more in `_meta`.
    pub async fn request_with_meta(&self, method: &str, mut params: Value, more: Value) -> HttpResponse {
        let mut meta = stateless_meta();
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let repeated = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
            _ => None,
        };
        let name = repeated.map(str::to_owned);
        params["_meta"] = meta;
        let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", method)];
        if let Some(name) = &name {
            headers.push(("mcp-name", name));
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post(&headers, body.to_string()).await
    }

    /// Calls a tool in the stateless revision.
    pub async fn call(&self, tool: &str, arguments: Value) -> HttpResponse {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Begins a session.
    pub async fn session(&self, revision: &str) -> Session {
        self.session_with(revision, json!({})).await
    }

    /// Begins a session with a client that has these capabilities.
    pub async fn session_with(&self, revision: &str, capabilities: Value) -> Session {
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities,
                             "clientInfo": { "name": "suite", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let reply = self.post(&[], body.to_string()).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let id = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let revision = reply.result()["protocolVersion"].as_str().unwrap().to_owned();
        // Above the ids that tests choose.
        let next_request = Arc::new(AtomicU64::new(1_000_000));
        let session = Session { client: self.clone(), id, revision, next_request };
        session.notify("notifications/initialized", json!({})).await;
        session
    }

    pub async fn delete(&self, session: &str) -> u16 {
        let sent = self.http.delete(&self.url).header("mcp-session-id", session).send().await.unwrap();
        sent.status().as_u16()
    }

    /// Sends a body and reads the response event by event.
    pub async fn stream(&self, headers: &[(&str, &str)], body: &Value) -> Stream {
        let mut request = self.http.post(&self.url).header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream").body(body.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Stream::of(request, self.conversation(headers, &body.to_string())).await
    }

    /// Opens a stream with GET.
    pub async fn listen(&self, headers: &[(&str, &str)]) -> Stream {
        let mut request = self.http.get(&self.url).header("accept", "text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Stream::of(request, self.conversation(headers, "")).await
    }

    /// The conversation that these headers and this body begin.
    fn conversation(&self, headers: &[(&str, &str)], body: &str) -> Conversation {
        let of = |name: &str| headers.iter().find(|header| header.0 == name).map(|header| header.1);
        let revision = of("mcp-protocol-version").unwrap_or(LEGACY);
        let session = of("mcp-session-id").unwrap_or_default();
        let mut conversation = Conversation::of_session(revision, session, &self.sent);
        if let Ok(message) = serde_json::from_str(body.trim_start_matches('\u{feff}')) {
            conversation.sent(&message);
        }
        conversation
    }

    /// Sends a request of any method with only these headers. Returns its status.
    pub async fn status_of(&self, method: reqwest::Method, headers: &[(&str, &str)]) -> u16 {
        self.send_empty(method, headers).await.status().as_u16()
    }

    /// The same. Returns the whole response, which must end.
    pub async fn response_to(&self, method: reqwest::Method, headers: &[(&str, &str)]) -> HttpResponse {
        let sent = self.send_empty(method, headers).await;
        let (status, headers) = (sent.status().as_u16(), sent.headers().clone());
        let text = sent.text().await.unwrap();
        HttpResponse { messages: Vec::new(), status, headers, text }
    }

    async fn send_empty(&self, method: reqwest::Method, headers: &[(&str, &str)]) -> reqwest::Response {
        let mut request = self.http.request(method, &self.url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }

    pub async fn get(&self) -> u16 {
        self.http.get(&self.url).header("accept", "text/event-stream").send().await.unwrap().status().as_u16()
    }
}

/// A session of one client.
#[derive(Clone)]
pub struct Session {
    client: Client,
    pub id: String,
    pub revision: String,
    /// The id of the next request whose caller chooses none: a client must not use an id again in its session.
    next_request: Arc<AtomicU64>,
}

impl Session {
    /// The same session, in which another client sends the requests.
    pub fn sent_by(&self, client: &Client) -> Self {
        Self { client: client.clone(), ..self.clone() }
    }

    pub async fn request_as(&self, id: Value, method: &str, params: Value) -> HttpResponse {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(body).await
    }

    pub async fn request(&self, method: &str, params: Value) -> HttpResponse {
        let id = self.next_request.fetch_add(1, Ordering::Relaxed);
        self.request_as(json!(id), method, params).await
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> HttpResponse {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub async fn notify(&self, method: &str, params: Value) {
        let reply = self.post(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
        assert_eq!((reply.status, reply.text.as_str()), (202, ""), "{reply:?}");
    }

    /// Sends a request and reads the response event by event.
    pub async fn stream(&self, id: Value, method: &str, params: Value) -> Stream {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.client.stream(&self.headers(), &body).await
    }

    /// Opens the stream for messages that belong to no request, or resumes a stream.
    pub async fn listen(&self, last_event: Option<&str>) -> Stream {
        let mut headers = self.headers().to_vec();
        headers.extend(last_event.map(|id| ("last-event-id", id)));
        self.client.listen(&headers).await
    }

    /// Responds to a request of the server.
    pub async fn respond(&self, request: &Value, result: Value) {
        let reply = self.post(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    /// Sends any message, or several in an array.
    pub async fn post(&self, body: Value) -> HttpResponse {
        self.client.post(&self.headers(), body.to_string()).await
    }

    fn headers(&self) -> [(&str, &str); 2] {
        [("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", self.revision.as_str())]
    }
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: Option<String>,
    pub id: Option<String>,
    pub retry: Option<u64>,
    /// Empty when the event only has an id.
    pub data: String,
}

impl Event {
    pub fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// The response to a request, as a stream.
pub struct Stream {
    response: reqwest::Response,
    pub status: u16,
    buffer: String,
    conversation: Conversation,
}

impl Stream {
    async fn of(request: reqwest::RequestBuilder, conversation: Conversation) -> Self {
        let response = request.send().await.unwrap();
        Self { status: response.status().as_u16(), response, buffer: String::new(), conversation }
    }

    /// The next event without comments; `None` at the end.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let event = parse_event(block);
                self.buffer = rest.to_owned();
                if let Some(event) = event {
                    if let Ok(message) = serde_json::from_str(&event.data) {
                        self.conversation.received(&message);
                    }
                    return Some(event);
                }
                continue;
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.expect("an event in time");
            self.buffer.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    /// The next message. A response without earlier messages is no stream but the message itself.
    pub async fn message(&mut self) -> Value {
        if self.response.headers().get("content-type").is_some_and(|kind| kind == "application/json") {
            let mut body = Vec::new();
            while let Some(chunk) = self.response.chunk().await.unwrap() {
                body.extend_from_slice(&chunk);
            }
            return serde_json::from_slice(&body).unwrap();
        }
        loop {
            let event = self.event().await.expect("a message");
            if !event.data.is_empty() {
                return event.message();
            }
        }
    }
}

fn parse_event(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim_start().to_owned())
    };
    let retry = field("retry").and_then(|retry| retry.parse().ok());
    let event =
        Event { name: field("event"), id: field("id"), retry, data: field("data").unwrap_or_default() };
    let comment = block.lines().all(|line| line.starts_with(':'));
    (!comment).then_some(event)
}

/// The `_meta` of every stateless request.
pub fn stateless_meta() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {} })
}

fn messages(text: &str) -> Vec<Value> {
    if let Ok(message) = serde_json::from_str(text) {
        return vec![message];
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|line| serde_json::from_str(line).unwrap()).collect()
}
