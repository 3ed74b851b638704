//! The caller of the guest `polite`, which measures how long its calls take while others attack.
//!
//! Its HTTP client validates no schemas, since that time would count as the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::http_client::{STATELESS, stateless_meta};

/// The time between two calls, so that the neighbour is no load.
const PAUSE: Duration = Duration::from_millis(5);

/// The calling client.
#[derive(Clone)]
pub struct Neighbour {
    http: reqwest::Client,
    url: String,
}

/// The waits, shortest first.
#[derive(Debug, Clone)]
pub struct Latencies(Vec<Duration>);

/// Calls in the background.
pub struct NeighbourLoop {
    over: Arc<AtomicBool>,
    task: JoinHandle<Vec<Duration>>,
}

impl Neighbour {
    pub fn new(url: String) -> Self {
        Self { http: reqwest::Client::new(), url }
    }

    /// A neighbour at another address of this machine.
    pub fn from(url: String, address: [u8; 4]) -> Self {
        let local = std::net::IpAddr::from(address);
        let http = reqwest::Client::builder().local_address(local).build().unwrap();
        Self { http, url }
    }

    /// Calls `polite-echo` once and returns the wait.
    pub async fn echo(&self) -> Duration {
        let (waited, text) = self.call("polite-echo", &json!({ "message": "hello" })).await;
        assert_eq!(text, "hello");
        waited
    }

    /// Calls a tool and returns the wait and the text of the result.
    pub async fn call(&self, tool: &str, arguments: &Value) -> (Duration, String) {
        let (waited, message) = self.try_call(tool, arguments).await.expect("the server answers");
        let text = message["result"]["content"][0]["text"].as_str();
        (waited, text.unwrap_or_else(|| panic!("no text in {message}")).to_owned())
    }

    /// Calls a tool of a server that may be killed meanwhile; returns the wait and the response.
    pub async fn try_call(&self, tool: &str, arguments: &Value) -> reqwest::Result<(Duration, Value)> {
        let begun = Instant::now();
        let text = self.post(tool, arguments).await?;
        let waited = begun.elapsed();
        let message = serde_json::from_str(text.trim_start_matches("data: ").trim())
            .unwrap_or_else(|error| panic!("{error} in {text}"));
        Ok((waited, message))
    }

    /// Calls a tool and returns any response.
    pub async fn post(&self, tool: &str, arguments: &Value) -> reqwest::Result<String> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": stateless_meta() });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let request = self
            .http
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", STATELESS)
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .body(body);
        request.send().await?.text().await
    }

    /// Calls so many times.
    pub async fn echo_times(&self, times: u32) -> Latencies {
        let mut waits = Vec::new();
        for _ in 0..times {
            waits.push(self.echo().await);
        }
        Latencies::of(waits)
    }

    /// Calls until the loop is ended.
    pub fn start_loop(&self) -> NeighbourLoop {
        let over = Arc::new(AtomicBool::new(false));
        let (ended, neighbour) = (Arc::clone(&over), self.clone());
        let task = tokio::spawn(async move {
            let mut waits = Vec::new();
            while !ended.load(Ordering::Relaxed) || waits.is_empty() {
                waits.push(neighbour.echo().await);
                tokio::time::sleep(PAUSE).await;
            }
            waits
        });
        NeighbourLoop { over, task }
    }
}

impl NeighbourLoop {
    /// Waits for the last response.
    pub async fn end(self) -> Latencies {
        self.over.store(true, Ordering::Relaxed);
        Latencies::of(self.task.await.unwrap())
    }
}

impl Latencies {
    pub fn of(mut waits: Vec<Duration>) -> Self {
        waits.sort();
        Self(waits)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The wait that so many per cent of the calls did not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        self.0.get(at).copied().unwrap_or_default()
    }
}
