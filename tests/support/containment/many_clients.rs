//! Many hostile clients and eight hostile plugins at once against a server with default limits, which must stay below a
//! gibibyte.
//!
//! The test watches the server's own memory, swapped pages included. To let the system end a server that grows beyond,
//! set `PLUGPORT_UNDER` to a shell command that runs before the server, for instance
//! `echo $$ > /sys/fs/cgroup/small/cgroup.procs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Latencies, Neighbour, Source, assert_no_panic, log_limit, process_stats};
use crate::corpus;
use crate::generator::{Random, random_adapter};
use crate::http_client::{Client, LEGACY};
use crate::raw_post::{call_body, call_headers, post_head, send};
use crate::server::{Builder, Server};

const GIB: u64 = 1 << 30;

/// The neighbour's address. All others have one of a few other addresses.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// The maximum wait of a neighbour among so many clients.
const SERVED: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 5 });

/// The minimum number of results for the neighbour in each such period.
const OFTEN: u64 = 10;

/// Nearly the largest body that is accepted.
const LARGE: usize = 3_900_000;

/// The number of clients and the length of the attack.
#[derive(Debug, Clone, Copy)]
pub struct ManyClients {
    pub clients: u8,
    pub time: Duration,
}

/// The outcome.
#[derive(Debug)]
pub struct ManyClientsReport {
    pub neighbour: [Duration; 3],
    /// The number of completed actions of all clients, and of calls of hostile tools.
    pub acts: u64,
    pub calls: usize,
    /// How those calls ended, and how often.
    pub outcomes: BTreeMap<String, usize>,
    pub most_mib: u64,
}

impl ManyClients {
    /// Runs the attack, and asserts that the server stays below a gibibyte and serves a neighbour throughout.
    pub async fn assert_survived(self) -> ManyClientsReport {
        let server = under(builder()).start().await;
        let neighbour = Neighbour::from(server.url(), ELSEWHERE);
        neighbour.echo_times(20).await;
        let tools = tools(&server).await;
        let (peak, watching) = watch(server.pid());
        let (begun, time) = (Instant::now(), self.time);
        let mut clients = JoinSet::new();
        for number in 0..self.clients {
            let (url, tools) = (server.url(), tools.clone());
            clients.spawn(async move {
                let (mut random, mut acts) = (Random::new(u64::from(number)), 0_u64);
                while begun.elapsed() < time {
                    // An action that fails is an attack too.
                    let act = act(&url, number, &tools, &mut random);
                    let done = tokio::time::timeout(Duration::from_secs(5), act).await;
                    acts += u64::from(done.is_ok());
                }
                acts
            });
        }
        let (mut waits, mut served) = (Vec::new(), BTreeMap::<u64, u64>::new());
        while begun.elapsed() < time {
            let echo = tokio::time::timeout(SERVED, neighbour.echo()).await;
            waits.push(echo.unwrap_or_else(|_| panic!("a neighbour was not served for {SERVED:?}")));
            *served.entry(begun.elapsed().as_secs() / SERVED.as_secs()).or_default() += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let acts = clients.join_all().await;
        watching.abort();
        for window in 0..time.as_secs() / SERVED.as_secs() {
            let times = served.get(&window).copied().unwrap_or_default();
            assert!(times >= OFTEN, "in window {window} a neighbour was served {times} times: {served:?}");
        }
        assert!(acts.iter().all(|acts| *acts > 0), "a client came to nothing: {acts:?}");
        let outcomes = outcomes(&server);
        let calls: usize = outcomes.values().sum();
        let limited = ["cpu_ms", "fuel"].iter().any(|limit| outcomes.contains_key(*limit));
        assert!(limited, "nothing was attacked: {outcomes:?}");
        assert_no_panic("many clients", &server, log_limit(time));
        let most_mib = peak.load(Ordering::Relaxed) >> 20;
        assert!(most_mib < GIB >> 20, "the server had {most_mib} MiB");
        let waits = Latencies::of(waits);
        let neighbour = [50, 99, 100].map(|percent| waits.percentile(percent));
        ManyClientsReport { neighbour, acts: acts.iter().sum(), calls, outcomes, most_mib }
    }
}

/// Eight hostile plugins beside the polite one, with the limits that they have when nobody sets any.
fn builder() -> Builder {
    let mut builder = Server::builder().guest("polite").alone();
    for name in
        ["hostile_host_functions", "hostile_costly_schemas", "hostile_memory_bomb", "hostile_log_flood"]
    {
        builder = builder.guest(name);
    }
    let mut random = Random::new(64);
    for at in 0..3 {
        let bytes = random_adapter(&mut random).assembled();
        builder = builder.file(&format!("p{at}.wasm"), &bytes);
    }
    builder.file("bulk.wasm", &Source::Wat("bulk").bytes())
}

/// The outcomes of calls of the hostile plugins. Only the outcome `limit` names a limit.
fn outcomes(server: &Server) -> BTreeMap<String, usize> {
    let mut outcomes = BTreeMap::new();
    for line in server.audit().iter().filter(|line| line["event"] == "call" && line["plugin"] != "polite") {
        let outcome = line["outcome"].as_str().unwrap_or_default();
        assert_eq!(line["limit"].is_string(), outcome == "limit", "{line}");
        *outcomes.entry(line["limit"].as_str().unwrap_or(outcome).to_owned()).or_default() += 1;
    }
    outcomes
}

#[expect(clippy::disallowed_methods, reason = "where a server runs is for whoever starts the tests to say")]
fn under(builder: Builder) -> Builder {
    match std::env::var("PLUGPORT_UNDER") {
        Ok(shell) => builder.shell_first(&shell),
        Err(_) => builder,
    }
}

/// The tools of the hostile plugins, with their arguments.
async fn tools(server: &Server) -> Vec<(String, Value)> {
    let listed = crate::reload::tool_names(&Client::new(server.url())).await;
    let attacks = corpus::parallel_attacks().filter_map(|(_, attack)| {
        let super::AttackAction::Calls { tool, arguments, .. } = attack.action else { return None };
        Some((format!("{}-{tool}", attack.source.plugin()), serde_json::from_str(arguments).ok()?))
    });
    let known = attacks.filter(|(tool, _)| listed.contains(tool)).collect::<Vec<_>>();
    let others = ["p0-go", "p1-go", "p2-go", "hostile_memory_bomb-allocate", "hostile_log_flood-forge"];
    let others = others.iter().map(|tool| ((*tool).to_owned(), json!({})));
    let flood = ("hostile_log_flood-flood".to_owned(), json!({ "bytes": 1_000_000_000 }));
    known.into_iter().chain(others).chain([flood]).collect()
}

/// One action of a hostile client.
async fn act(url: &str, number: u8, tools: &[(String, Value)], random: &mut Random) {
    let authority = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let client = Client::from(url, [127, 0, 0, 3 + number % 4]);
    let size = usize::try_from(random.of_any_size(22)).unwrap().min(LARGE);
    match random.below(6) {
        0 => {
            let body =
                call_body(&json!(1), "polite-echo", &json!({ "message": "m".repeat(size) }), &json!({}));
            hold(ask(authority, &body, body.len()).await, random).await;
        }
        1 => {
            let body =
                call_body(&json!("i".repeat(size)), "polite-echo", &json!({ "message": "m" }), &json!({}));
            hold(ask(authority, &body, body.len()).await, random).await;
        }
        2 => {
            let body = " ".repeat(size);
            hold(ask(authority, &body, size + 1).await, random).await;
        }
        3 => {
            let params = json!({ "protocolVersion": LEGACY, "capabilities": {},
                                 "clientInfo": { "name": "n".repeat(size / 8), "version": "1" } });
            let body =
                json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
            let head = post_head(authority, &[], body.len());
            drop(send(authority, &head, body.as_bytes()).await);
        }
        _ => {
            let at = usize::try_from(random.below(tools.len() as u64)).unwrap();
            let (tool, arguments) = &tools[at];
            let body = call_body(&json!(1), tool, arguments, &json!({ "progressToken": "t" }));
            let headers = call_headers(tool);
            client.post(&headers, body).await;
        }
    }
}

async fn ask(authority: &str, body: &str, length: usize) -> TcpStream {
    send(authority, &post_head(authority, &call_headers("polite-echo"), length), body.as_bytes()).await
}

/// Keeps a connection for up to four seconds, and neither reads nor writes.
async fn hold(stream: TcpStream, random: &mut Random) {
    tokio::time::sleep(Duration::from_millis(random.below(4_000))).await;
    drop(stream);
}

/// Watches the peak memory of a process.
fn watch(pid: u32) -> (Arc<AtomicU64>, tokio::task::JoinHandle<()>) {
    let peak = Arc::<AtomicU64>::default();
    let seen = Arc::clone(&peak);
    let watching = tokio::spawn(async move {
        loop {
            seen.fetch_max(process_stats::own_and_swapped(pid), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    (peak, watching)
}
