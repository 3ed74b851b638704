//! Measures a router over loopback HTTP: the server on one thread, keep-alive connections from another.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::mpsc as blocking;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper_util::service::TowerToHyperService;
use plugport::config::ServerConfig;
use plugport::transport::http::{Listener, MakeService, serve};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::in_process::{BenchFn, runtime, thread_cpu};
use super::{ARGS, Row};

const TOOL: &str = "polite-echo";
const LOAD_COMMAND: &str = "load";
const CALL: &str = "tools/call";
const LIST: &str = "tools/list";
const VERSION: &str = "2026-07-28";

/// How much load to make.
pub struct Load {
    pub connections: usize,
    pub time: Duration,
    method: &'static str,
}

impl Load {
    /// Calls of a tool.
    pub fn calls(connections: usize, time: Duration) -> Self {
        Self { connections, time, method: CALL }
    }

    /// Requests for the first page of `tools/list`.
    pub fn lists(connections: usize, time: Duration) -> Self {
        Self { connections, time, method: LIST }
    }
}

/// The same for a router of axum.
pub fn measure_http(name: &str, load: &Load, make: impl AsyncFnOnce() -> Router + Send + 'static) -> Row {
    measure_routes(name, load, async move || TowerToHyperService::new(make().await))
}

/// Sends load to the routes of `make`, and measures the server thread's processor time.
pub fn measure_routes<R: MakeService>(
    name: &str,
    load: &Load,
    make: impl AsyncFnOnce() -> R + Send + 'static,
) -> Row {
    let stop = CancellationToken::new();
    let (send_address, address) = blocking::sync_channel(1);
    let stopped = stop.clone();
    let server = std::thread::spawn(move || {
        runtime().block_on(async {
            let routes = make().await;
            let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            send_address.send(listener.address).unwrap();
            let cpu = thread_cpu();
            serve(listener, routes, &ServerConfig::default(), stopped).await;
            thread_cpu() - cpu
        })
    });
    let address = address.recv().unwrap();
    let latencies = load_from_child_process(address, load);
    stop.cancel();
    let cpu = server.join().unwrap();
    Row::new(&format!("{name}, {} connections", load.connections), latencies, load.time.as_secs_f64(), cpu)
}

/// Runs the load generator in a child process: in this process, each page that the server gives back would interrupt
/// it.
fn load_from_child_process(address: SocketAddr, load: &Load) -> Vec<f64> {
    let arguments = [address.to_string(), load.connections.to_string(), load.time.as_millis().to_string()];
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.arg(LOAD_COMMAND).args(arguments).arg(load.method);
    let output = child.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The other end of [`load_from_child_process`]: prints one latency in µs per line.
pub fn run_load_if_child() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, command, address, connections, millis, method] = arguments.as_slice() else { return false };
    if command != LOAD_COMMAND {
        return false;
    }
    let time = Duration::from_millis(millis.parse().unwrap());
    let connections = connections.parse().unwrap();
    let load = if method == LIST { Load::lists(connections, time) } else { Load::calls(connections, time) };
    let latencies = runtime().block_on(run_load(address.parse().unwrap(), &load));
    let lines: Vec<String> = latencies.iter().map(|latency| format!("{latency:.1}")).collect();
    println!("{}", lines.join("\n"));
    true
}

/// Sends requests from `load.connections` connections. A task that is always ready keeps this thread from sleeping:
/// waking a sleeping client costs the server up to 10 µs on a virtual machine, which is not a property of the server.
async fn run_load(address: SocketAddr, load: &Load) -> Vec<f64> {
    let awake = tokio::spawn(async {
        loop {
            let mut yielded = false;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    });
    let until = Instant::now() + load.time;
    let method = load.method;
    let clients: Vec<_> =
        (0..load.connections).map(|_| tokio::spawn(client(address, method, until))).collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await.unwrap());
    }
    awake.abort();
    latencies
}

async fn client(address: SocketAddr, method: &'static str, until: Instant) -> Vec<f64> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let request = if method == LIST { list_request(&address.to_string()) } else { request(address, None) };
    let mut buffer = vec![0; 16 << 10];
    let mut latencies = Vec::new();
    while Instant::now() < until {
        let start = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        let body = read_response(&mut stream, &mut buffer).await;
        let expected = if method == LIST { body.ends_with(b"}") } else { is_echo(body) };
        assert!(expected, "{}", String::from_utf8_lossy(body));
        latencies.push(start.elapsed().as_secs_f64() * 1e6);
    }
    latencies
}

/// A router that is called without a socket.
pub struct InProcess {
    router: Router,
    authorization: Option<String>,
}

impl InProcess {
    pub async fn new(make: impl AsyncFnOnce() -> Router) -> Self {
        Self { router: make().await, authorization: None }
    }

    /// With this bearer token in each request.
    pub fn with_token(self, token: &str) -> Self {
        Self { authorization: Some(format!("Bearer {token}")), ..self }
    }
}

impl BenchFn for InProcess {
    async fn once(&mut self) {
        let (headers, body) = head_and_body("localhost");
        let mut request = Request::post("/mcp").body(Body::from(body)).unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert("authorization", authorization.parse().unwrap());
        }
        let response = self.router.call(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(is_echo(&body));
    }
}

fn is_echo(body: &[u8]) -> bool {
    std::str::from_utf8(body).unwrap().contains("0123456789abcdef")
}

/// The bytes of a request.
pub fn request(address: SocketAddr, token: Option<&str>) -> String {
    let (headers, body) = head_and_body(&address.to_string());
    let authorization = token.map(|token| ("authorization", format!("Bearer {token}")));
    post(headers.into_iter().chain(authorization), &body)
}

/// The bytes of a request for the first page of `tools/list`.
pub fn list_request(host: &str) -> String {
    let (headers, body) = list_head_and_body(host);
    post(headers.into_iter(), &body)
}

fn post(headers: impl Iterator<Item = (&'static str, String)>, body: &str) -> String {
    let head: String = headers.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn meta() -> String {
    format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    )
}

fn head_and_body(host: &str) -> ([(&'static str, String); 6], String) {
    let meta = meta();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{CALL}","params":{{"name":"{TOOL}","arguments":{ARGS},"_meta":{meta}}}}}"#
    );
    let headers = [
        ("host", host.to_owned()),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", VERSION.to_owned()),
        ("mcp-method", CALL.to_owned()),
        ("mcp-name", TOOL.to_owned()),
    ];
    (headers, body)
}

/// The headers and the body of a request for the first page of `tools/list`.
pub fn list_head_and_body(host: &str) -> ([(&'static str, String); 5], String) {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{LIST}","params":{{"_meta":{}}}}}"#, meta());
    let headers = [
        ("host", host.to_owned()),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", VERSION.to_owned()),
        ("mcp-method", LIST.to_owned()),
    ];
    (headers, body)
}

/// Reads one response with a `content-length`, checks that it succeeded, and returns its body.
pub async fn read_response<'b>(stream: &mut TcpStream, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    let (mut filled, mut body) = (0, None);
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let read = stream.read(&mut buffer[filled..]).await.unwrap();
        assert!(read > 0, "the server hung up");
        filled += read;
        body = body.or_else(|| find_body(&buffer[..filled]));
        if body.as_ref().is_some_and(|body: &Range<usize>| body.end == filled) {
            break;
        }
    }
    &buffer[body.unwrap()]
}

/// Where the body is, once the head is there.
fn find_body(received: &[u8]) -> Option<Range<usize>> {
    let start = received.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&received[..start]).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    Some(start..start + length.parse::<usize>().unwrap())
}

#[derive(Deserialize)]
struct BareRequest<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: BareParams<'a>,
}

#[derive(Deserialize)]
struct BareParams<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// The same response from a handler that can do only this call.
pub fn bare_router() -> impl AsyncFnOnce() -> Router + Send + 'static {
    async || Router::new().route("/mcp", routing::post(bare))
}

async fn bare(headers: HeaderMap, body: Bytes) -> Response {
    let request: BareRequest<'_> = serde_json::from_slice(&body).unwrap();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if header("mcp-method") != Some(request.method) || header("mcp-name") != Some(request.params.name) {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let arguments: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(request.params.arguments.get()).unwrap();
    let text = serde_json::to_string(&arguments["message"]).unwrap();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","content":[{{"type":"text","text":{text}}}],"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"plugport","title":"Plugport","version":"0.1.0"}}}}}}}}"#,
        request.id
    );
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
