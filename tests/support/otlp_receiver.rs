//! A collector that gets spans by OTLP over HTTP, decodes them with the types of the OpenTelemetry project, and
//! misbehaves when it is told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How long a test waits for spans.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What the collector does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Accept,
    /// Answers 500.
    Fail,
    /// Reads, and never answers.
    Silent,
    /// Answers 200 with a body that never ends.
    Endless,
}

/// A collector on a port that the system chose. It ends when dropped.
pub struct OtlpReceiver {
    port: u16,
    seen: Arc<Mutex<Seen>>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    heads: Vec<String>,
    bodies: Vec<Vec<u8>>,
}

impl OtlpReceiver {
    pub async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Seen>>::default();
        let serving = tokio::spawn(serve(listener, manner, Arc::clone(&seen)));
        Self { port, seen, serving }
    }

    /// The configuration that sends traces here.
    pub fn config(&self, traces_per_second: u64) -> String {
        format!(
            "[telemetry.otlp]\nendpoint = \"http://127.0.0.1:{}\"\ntraces_per_second = {traces_per_second}\n",
            self.port
        )
    }

    /// The heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.seen.lock().unwrap().heads.clone()
    }

    /// The bodies of the requests so far.
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.seen.lock().unwrap().bodies.clone()
    }

    fn resource_spans(&self) -> Vec<ResourceSpans> {
        let requests =
            self.bodies().into_iter().map(|body| ExportTraceServiceRequest::decode(&*body).unwrap());
        requests.flat_map(|request| request.resource_spans).collect()
    }

    /// The attributes of the resource of each request so far.
    pub fn resources(&self) -> Vec<BTreeMap<String, String>> {
        let resources = self.resource_spans().into_iter().filter_map(|spans| spans.resource);
        resources.map(|resource| texts(&resource.attributes)).collect()
    }

    /// All spans so far.
    pub fn spans(&self) -> Vec<Span> {
        let resources = self.resource_spans().into_iter();
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// Waits until there is a span that fits, and returns all spans.
    pub async fn wait_for(&self, what: &str, fits: impl Fn(&Span) -> bool) -> Vec<Span> {
        let begun = std::time::Instant::now();
        loop {
            let spans = self.spans();
            if spans.iter().any(&fits) {
                return spans;
            }
            let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
            assert!(begun.elapsed() < TIMEOUT, "no span {what} among {names:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for a span with this name, and returns it.
    pub async fn wait_for_name(&self, name: &str) -> Span {
        let spans = self.wait_for(name, |span| span.name == name).await;
        spans.into_iter().find(|span| span.name == name).unwrap()
    }
}

impl Drop for OtlpReceiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The attributes of a span as text.
pub fn attributes(span: &Span) -> BTreeMap<String, String> {
    texts(&span.attributes)
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    attributes.iter().map(|attribute| (attribute.key.clone(), text(attribute))).collect()
}

fn text(attribute: &KeyValue) -> String {
    match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(value)) => value.to_string(),
        other => panic!("{other:?} as {}", attribute.key),
    }
}

/// An id as hex.
pub fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn serve(listener: TcpListener, manner: Manner, seen: Arc<Mutex<Seen>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let seen = Arc::clone(&seen);
        tokio::spawn(async move {
            // The server may leave at any time.
            let _ = respond(stream, manner, &seen).await;
        });
    }
}

async fn respond(mut stream: TcpStream, manner: Manner, seen: &Mutex<Seen>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
    {
        let mut seen = seen.lock().unwrap();
        seen.heads.push(head);
        seen.bodies.push(bytes.split_off(end));
    }
    match manner {
        Manner::Accept => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await,
        Manner::Fail => {
            stream.write_all(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n").await
        }
        Manner::Silent => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            Ok(())
        }
        Manner::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            loop {
                stream.write_all(b"1\r\nx\r\n").await?;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}
