//! 10,000 unfinished tasks on one server: the memory of each, an ordinary call beside them, and requests for their
//! status.
//!
//! The server has a thread of its own, whose clock gives its processor time. One caller may have 32 unfinished tasks,
//! so the server believes a proxy that names many.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc as blocking};
use std::time::{Duration, Instant};

use plugport::catalog::{Catalog, Snapshot};
use plugport::config::{PluginConfig, ServerConfig};
use plugport::mcp::Server;
use plugport::observe::Audit;
use plugport::plugin::Loader;
use plugport::sandbox::{Compiler, KvDatabase};
use plugport::transport::http::{Listener, ServerRoutes, serve};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::post::Post;
use super::{Figure, count, quantile};
use crate::support::connection::Connection;
use crate::support::http::read_response;
use crate::support::in_process::{runtime, thread_cpu};
use crate::support::memory::resident;
use crate::support::{UNBOUNDED, entry_with};

const TASKS: usize = count(10_000, 200);
const TASKS_OF_CALLER: usize = 25;
const CALLERS: usize = 8;

const ORDINARY: usize = count(2_000, 100);
const ROUNDS: usize = 5;

const CONNECTIONS: usize = 16;
const GETS_PER_SECOND: usize = 10_000;
const TIME: Duration = if cfg!(debug_assertions) { Duration::from_secs(1) } else { Duration::from_secs(5) };

/// How long the unfinished tasks sleep: longer than this process lives.
const LONG_MS: u64 = 80_000_000;

/// The address of the client of ordinary calls.
const NEIGHBOUR: &str = "192.0.2.1";

const AIM_KIB: f64 = 64.0;
const AIM_RATIO: f64 = 2.0;
const AIM_PERCENT: f64 = 60.0;

/// A server on a thread of its own, for as long as this process.
struct MeasuredServer {
    address: SocketAddr,
    clock: mpsc::Sender<blocking::SyncSender<f64>>,
}

impl MeasuredServer {
    fn start(guest: PathBuf, state: PathBuf) -> Self {
        let (send, receive) = blocking::sync_channel(1);
        let (clock, mut asked) = mpsc::channel::<blocking::SyncSender<f64>>(1);
        std::thread::spawn(move || {
            runtime().block_on(async {
                let server = server(&guest, state).await;
                tokio::spawn(async move {
                    while let Some(answer) = asked.recv().await {
                        answer.send(thread_cpu()).unwrap();
                    }
                });
                let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
                send.send(listener.address).unwrap();
                let routes = ServerRoutes::new(Arc::new(server));
                serve(listener, routes, &ServerConfig::default(), CancellationToken::new()).await;
            });
        });
        Self { address: receive.recv().unwrap(), clock }
    }

    /// Processor seconds of its thread.
    fn cpu(&self) -> f64 {
        let (send, receive) = blocking::sync_channel(1);
        self.clock.blocking_send(send).unwrap();
        receive.recv().unwrap()
    }
}

async fn server(guest: &Path, state: PathBuf) -> Server {
    let settings = ServerConfig {
        suspended_calls: 0,
        tasks: TASKS,
        caller_calls_per_second: UNBOUNDED,
        // It counts what instances may use, which is far more than what sleeping ones do use.
        guest_memory_mib: Some(262_144),
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        ..ServerConfig::default()
    };
    let store = KvDatabase::of_state(Some(state));
    let compiler = Compiler::in_process();
    let loader = Loader::new(&settings, Arc::clone(&store), Audit::disabled(), compiler).unwrap();
    let entry = entry_with(&loader, guest, set_limits).await;
    Server::new(Arc::new(Catalog::new(Snapshot::new(vec![entry]))), settings).with_tasks(store)
}

fn set_limits(settings: &mut PluginConfig) {
    for (name, value) in [("tasks", TASKS as u64), ("task_after_ms", 1), ("task_wall_ms", 86_400_000)] {
        settings.limits.set(name, value).unwrap();
    }
}

pub(super) fn measure(guest: &Path) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let server = MeasuredServer::start(guest.to_owned(), folder.path().to_owned());
    let address = server.address;
    let ordinary = Post::call("polite-echo", json!({ "message": "x" }), false).text(address, NEIGHBOUR);
    let mut connection = Connection::open(address);
    p99(&mut connection, &ordinary);
    // The first task opens the database, and ends before the others begin: there is room for no more than those.
    begin(&mut connection, address, ("192.0.2.2", 100));
    let idle = p99(&mut connection, &ordinary);
    let before = resident();
    let (begun, ids) = (Instant::now(), begin_all(address));
    let rate = TASKS as f64 / begun.elapsed().as_secs_f64();
    let kib = (resident() - before) / 1024.0 / TASKS as f64;
    let beside = p99(&mut connection, &ordinary);
    let (percent, sent) = gets(&server, ids);
    let figures = [
        ("tasks begun in a second, each with its record on the disk", rate, "", None),
        ("memory of each of all unfinished tasks", kib, "KiB", Some(AIM_KIB)),
        ("p99 of an ordinary call without them", idle, "µs", None),
        ("p99 of an ordinary call beside them", beside, "µs", None),
        ("ratio of the two", beside / idle, "", Some(AIM_RATIO)),
        ("`tasks/get` in a second, as they were sent", sent, "", None),
        ("10,000 `tasks/get` in a second: processor time of the server", percent, "%", Some(AIM_PERCENT)),
    ];
    println!("{TASKS} unfinished tasks");
    figures.map(|(name, measured, unit, aim)| Figure::new(name, measured, unit, aim)).into()
}

/// The median of the 99th percentiles of some rounds, µs.
fn p99(connection: &mut Connection, request: &str) -> f64 {
    let round = |_| {
        let time = |_| {
            let sent = Instant::now();
            connection.send_ok(request);
            sent.elapsed().as_secs_f64() * 1e6
        };
        quantile((0..ORDINARY).map(time).collect(), 0.99)
    };
    quantile((0..ROUNDS).map(round).collect(), 0.5)
}

/// Begins a task that takes `ms`, and returns its id.
fn begin(connection: &mut Connection, address: SocketAddr, (client, ms): (&str, u64)) -> String {
    let request = Post::call("polite-nap", json!({ "ms": ms }), true).text(address, client);
    let text = connection.send_ok(&request);
    let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    body["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

/// Begins all tasks, from some connections at once.
fn begin_all(address: SocketAddr) -> Vec<String> {
    let begin_some = |part: usize| {
        let mut connection = Connection::open(address);
        let begin = |at: usize| {
            let caller = (part * TASKS / CALLERS + at) / TASKS_OF_CALLER;
            let client = format!("198.18.{}.{}", caller >> 8, caller & 255);
            begin(&mut connection, address, (client.as_str(), LONG_MS))
        };
        (0..TASKS / CALLERS).map(begin).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..CALLERS).map(|part| scope.spawn(move || begin_some(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// Asks for the tasks in turn. Returns the percentage of a processor that the server takes for [`GETS_PER_SECOND`], and
/// how many were sent in a second.
fn gets(server: &MeasuredServer, ids: Vec<String>) -> (f64, f64) {
    let get = |id: String| {
        let params = json!({ "taskId": id });
        Post::new("tasks/get", &id, params, true).text(server.address, NEIGHBOUR)
    };
    let requests: Arc<[String]> = ids.into_iter().map(get).collect();
    let (cpu, begun) = (server.cpu(), Instant::now());
    let sent = runtime().block_on(async {
        let ask = |at| tokio::spawn(ask(server.address, Arc::clone(&requests), at));
        let connections: Vec<_> = (0..CONNECTIONS).map(ask).collect();
        let mut sent = 0;
        for connection in connections {
            sent += connection.await.unwrap();
        }
        sent
    });
    let (cpu, elapsed) = (server.cpu() - cpu, begun.elapsed().as_secs_f64());
    let each = cpu / sent as f64;
    (100.0 * each * GETS_PER_SECOND as f64, sent as f64 / elapsed)
}

/// Sends this connection's share of the requests, at its pace. Returns how many.
async fn ask(address: SocketAddr, requests: Arc<[String]>, first: usize) -> usize {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut pace = tokio::time::interval(Duration::from_secs(CONNECTIONS as u64) / GETS_PER_SECOND as u32);
    let (mut buffer, mut sent, until) = (vec![0; 16 << 10], 0, Instant::now() + TIME);
    while Instant::now() < until {
        pace.tick().await;
        let request = &requests[(first + sent * CONNECTIONS) % requests.len()];
        stream.write_all(request.as_bytes()).await.unwrap();
        let body = read_response(&mut stream, &mut buffer).await;
        assert!(std::str::from_utf8(body).unwrap().contains("\"working\""));
        sent += 1;
    }
    sent
}
