//! The real program in a folder of its own, and minimal clients.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_plugport");

const SESSIONS: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Where a server runs: its plugins, its configuration and its state.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        // A client that only listens does not respond to pings.
        Self::with_config("[server]\nping_interval_s = 0\n")
    }

    /// With this `plugport.toml`.
    pub fn with_config(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("plugins")).unwrap();
        std::fs::write(home.path().join("plugport.toml"), config).unwrap();
        Self(home)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a plugin into the folder atomically, and returns when.
    pub fn put(&self, file: &str, bytes: &[u8]) -> Instant {
        let temporary = self.path().join("temporary");
        std::fs::write(&temporary, bytes).unwrap();
        let begun = Instant::now();
        std::fs::rename(temporary, self.path().join("plugins").join(file)).unwrap();
        begun
    }
}

/// A running server. Killed when dropped.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts a server and waits until it prints its address.
    pub async fn start(home: &Home) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(home.path());
        Self::run(command, |_| ()).await
    }

    /// The same for a command that prints what the server prints. `each` gets every later line of its stderr.
    pub async fn run(mut command: Command, mut each: impl FnMut(&str) + Send + 'static) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let Some(line) = lines.next_line().await.unwrap() else { panic!("the server did not start") };
            let url = line.strip_prefix("serving MCP at http://");
            if let Some(address) = url.and_then(|url| url.strip_suffix("/mcp")) {
                break address.to_owned();
            }
        };
        // Its stderr is read to the end, so that it never blocks on it.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                each(&line);
            }
        });
        Self { child, address }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The resident memory of the server.
    pub fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let bytes = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            1024.0 * line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
        };
        Memory { own: bytes("RssAnon:") + bytes("RssShmem:"), mapped: bytes("RssFile:") }
    }

    /// Kills the server and waits for its end.
    pub async fn end(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Resident memory of a process, bytes.
pub struct Memory {
    /// Anonymous and shared memory.
    pub own: f64,
    /// Pages of files.
    pub mapped: f64,
}

/// One connection.
pub struct Client {
    address: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    pub async fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        // The task ends with the sender or with the server.
        tokio::spawn(connection);
        Self { address: server.address.clone(), sender }
    }

    async fn send(&mut self, method: Method, headers: &[(&str, &str)], body: String) -> Response<Incoming> {
        let mut request = Request::builder().method(method).uri("/mcp").header("host", &self.address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json").body(Full::from(body)).unwrap();
        self.sender.ready().await.unwrap();
        self.sender.send_request(request).await.unwrap()
    }

    /// The number of tools on all pages of the list. `None` if the list changed between two pages.
    pub async fn tools(&mut self) -> Option<usize> {
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")];
        let mut params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": STATELESS,
                                            "io.modelcontextprotocol/clientCapabilities": {} } });
        let mut tools = 0;
        loop {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
            let response = self.send(Method::POST, &headers, body.to_string()).await;
            let response: Value = serde_json::from_str(message(&text_of(response).await)).unwrap();
            let Some(result) = response.get("result") else {
                assert_eq!(response["error"]["code"], -32602, "{response}");
                return None;
            };
            tools += result["tools"].as_array().unwrap().len();
            match result.get("nextCursor") {
                Some(next) => params["cursor"] = next.clone(),
                None => return Some(tools),
            }
        }
    }
}

impl Client {
    /// The text that a tool answers.
    pub async fn call(&mut self, tool: &str, arguments: &str) -> String {
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)];
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let params = json!({ "name": tool, "arguments": arguments,
                             "_meta": { "io.modelcontextprotocol/protocolVersion": STATELESS,
                                        "io.modelcontextprotocol/clientCapabilities": {} } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let response = self.send(Method::POST, &headers, body.to_string()).await;
        let text = text_of(response).await;
        let response: Value = serde_json::from_str(message(&text)).unwrap_or_default();
        response["result"]["content"][0]["text"].as_str().map_or(text.clone(), str::to_owned)
    }
}

async fn body_of(response: Response<Incoming>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

async fn text_of(response: Response<Incoming>) -> String {
    String::from_utf8_lossy(&body_of(response).await).into_owned()
}

/// The message of a response. A call that logs and a list that waits for plugins are streams, whose last event it is.
fn message(body: &str) -> &str {
    body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(body)
}

/// The stream of a session's notifications.
pub struct Listener {
    _client: Client,
    body: Incoming,
    buffer: String,
}

impl Listener {
    /// Starts a session and opens its stream.
    pub async fn open(server: &Server) -> Self {
        let mut client = Client::new(server).await;
        let params = json!({ "protocolVersion": SESSIONS, "capabilities": {},
                             "clientInfo": { "name": "bench", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = client.send(Method::POST, &[], body.to_string()).await;
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        body_of(response).await;
        let headers = [("mcp-protocol-version", SESSIONS), ("mcp-session-id", session.as_str())];
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        body_of(client.send(Method::POST, &headers, body.to_string()).await).await;
        let response = client.send(Method::GET, &headers, String::new()).await;
        assert_eq!(response.status(), StatusCode::OK);
        let mut listener = Self { _client: client, body: response.into_body(), buffer: String::new() };
        // The first event only has an id to resume from. No later event is missed.
        listener.event().await;
        listener
    }

    /// Waits for `list_changed` of the tools, and returns when it came.
    pub async fn tools_changed(&mut self) -> Instant {
        while !self.event().await.contains("notifications/tools/list_changed") {}
        Instant::now()
    }

    /// The next event, or comment.
    async fn event(&mut self) -> String {
        loop {
            let first = self.buffer.split_once("\n\n");
            if let Some((event, rest)) = first.map(|(event, rest)| (event.to_owned(), rest.to_owned())) {
                self.buffer = rest;
                return event;
            }
            let frame = self.body.frame().await.unwrap().unwrap();
            if let Ok(data) = frame.into_data() {
                self.buffer.push_str(std::str::from_utf8(&data).unwrap());
            }
        }
    }
}
